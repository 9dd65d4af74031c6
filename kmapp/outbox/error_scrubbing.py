"""Removal of erased content from the error messages of deliveries."""

from collections.abc import Iterable
from uuid import UUID

from django.db import connection

SILENCE = """
UPDATE outbox_delivery SET last_error = ''
 WHERE account_id = %s AND last_error <> '' AND event_id IN (
   SELECT e.id FROM outbox_outboxevent e, jsonb_path_query(e.payload, '$.**') v
    WHERE e.account_id = %s AND jsonb_typeof(v) = 'string' AND v #>> '{}' = ANY (%s))
"""


def silence_errors(account_id: UUID, objects: Iterable[UUID]) -> None:
    """Forget what providers complained of about these objects. Inside `acting`."""
    with connection.cursor() as cursor:
        cursor.execute(SILENCE, [account_id, account_id, [str(pk) for pk in objects]])
