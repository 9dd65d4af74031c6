"""Outbox handler that sends webhooks."""

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from django.utils import timezone

from kmapp.accounts.acting import acting
from kmapp.database.encryption import DecryptionFailed, decrypt_text
from kmapp.notifications.webhooks.actions import SEND, get_allowed_receivers
from kmapp.notifications.webhooks.change_registry import get_source
from kmapp.notifications.webhooks.models import Webhook
from kmapp.notifications.webhooks.payloads import Payload, build_payload
from kmapp.notifications.webhooks.sending import NotAccepted, send_request
from kmapp.outbox.registry import Job, PermanentFailure, RetryLater, register_handler
from kmapp.security.egress.allowed_urls import CannotReach

PAUSE = timedelta(seconds=60)  # between two requests to a receiver that failed
RECEIVER_FAILED = "receiver_failed"
NOT_DECRYPTED = "The signing secret cannot be decrypted. Delete the webhook and create it again."


@register_handler(SEND, name="kmapp.webhooks.send")
def send_webhooks(jobs: Sequence[Job]) -> None:
    """Send each report whose webhook is active and has subscribed to it.

    While a receiver fails, one request a minute tries it; the others wait and use up no attempts.
    """
    for job in jobs:
        webhook = _find_webhook(job)
        payload = webhook and _build_payload(job, webhook)
        if webhook and payload:
            _send_payload(job, webhook, payload)


def _find_webhook(job: Job) -> Webhook | None:
    with acting(job.account_id):
        rows = Webhook.objects.of(job.account_id).active()
        return rows.filter(pk=job.payload["webhook"]).first()


def _build_payload(job: Job, webhook: Webhook) -> Payload | None:
    reference = UUID(job.payload["reference"])
    with acting(job.account_id):
        source = get_source(job.payload["source"])
        change = source.load(job.account_id, [reference]).get(reference)
    if change is None or change.event_type not in webhook.event_types:
        return None
    return build_payload(webhook.payload_format, change)


def _send_payload(job: Job, webhook: Webhook, payload: Payload) -> None:
    if webhook.last_error and webhook.last_attempt_at:
        left = webhook.last_attempt_at + PAUSE - timezone.now()
        if left > timedelta(0):
            raise RetryLater(RECEIVER_FAILED, seconds=min(left, PAUSE).total_seconds())
    try:
        send_request(
            webhook.url,
            decrypt_text(webhook.secret),
            job.event_id,
            payload,
            get_allowed_receivers(),
        )
    except NotAccepted as error:
        _record_attempt(webhook, str(error))
        raise
    except CannotReach as error:
        _record_attempt(webhook, str(error))
        raise PermanentFailure(str(error)) from error
    except DecryptionFailed as error:
        _record_attempt(webhook, NOT_DECRYPTED)
        raise PermanentFailure(NOT_DECRYPTED) from error
    _record_attempt(webhook, "")


def _record_attempt(webhook: Webhook, error: str) -> None:
    with acting(webhook.account_id):
        rows = Webhook.objects.of(webhook.account_id).filter(pk=webhook.pk)
        rows.update(last_attempt_at=timezone.now(), last_error=error)
