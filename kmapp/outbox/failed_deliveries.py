"""Retries of failed deliveries, and removal of their error messages."""

from collections.abc import Iterable, Sequence
from uuid import UUID

from django.db import connection
from django.db.models.functions import Now

from kmapp.outbox.models import Delivery
from kmapp.outbox.publish import wake_after_commit


def retry_deliveries(account_id: UUID, deliveries: Sequence[UUID] | None = None) -> int:
    """Retry failed deliveries: these, or all of the account. Return the number."""
    dead = Delivery.objects.of(account_id).dead()
    if deliveries is not None:
        dead = dead.filter(pk__in=deliveries)
    queues = set(dead.values_list("queue", flat=True))
    revived = dead.update(failed_at=None, attempts=0, due_at=Now(), reason="")
    if revived:
        wake_after_commit(queues)
    return revived


# A payload has the ids of its objects as strings, at any depth.
_CLEAR_ERROR_MESSAGES = """
UPDATE outbox_delivery SET last_error = ''
 WHERE account_id = %s AND last_error <> '' AND event_id IN (
   SELECT e.id FROM outbox_outboxevent e, jsonb_path_query(e.payload, '$.**') v
    WHERE e.account_id = %s AND jsonb_typeof(v) = 'string' AND v #>> '{}' = ANY (%s))
"""


def clear_error_messages(account_id: UUID, objects: Iterable[UUID]) -> None:
    """Clear the error messages of deliveries about these objects. Inside `acting`."""
    with connection.cursor() as cursor:
        cursor.execute(_CLEAR_ERROR_MESSAGES, [account_id, account_id, [str(pk) for pk in objects]])
