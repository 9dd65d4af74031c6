"""Creating, changing and deleting webhooks, and enqueueing what they report."""

import secrets
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import MaxLengthValidator
from django.utils import timezone
from django.utils.translation import gettext as _

from kmapp.accounts.actors import Actor
from kmapp.database.encryption import encrypt_text
from kmapp.errors import Conflict, Denied, Invalid, NotFound
from kmapp.ledger.actions import recording
from kmapp.notifications.webhooks.change_registry import list_event_types
from kmapp.notifications.webhooks.models import Webhook
from kmapp.notifications.webhooks.payloads import NATIVE, list_formats
from kmapp.outbox.publish import NewJob, publish
from kmapp.security.egress.allowed_urls import (
    MAX_LENGTH,
    AllowedSites,
    CannotReach,
    is_secure,
    validate_address,
)

SEND = "webhooks.send"
MAX_WEBHOOKS = 20  # of an account
SECRET_BYTES = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatedWebhook:
    """A new webhook with its signing secret, which cannot be read later."""

    webhook: Webhook
    secret: str


def get_allowed_receivers() -> AllowedSites:
    return AllowedSites.of(settings.WEBHOOK_HOSTS, settings.WEBHOOK_PRIVATE)


def create_webhook(
    *,
    account_id: UUID,
    name: str,
    url: str,
    event_types: Sequence[str],
    actor: Actor,
    payload_format: str = NATIVE,
) -> CreatedWebhook:
    """Create a webhook. Its secret is returned once and stored encrypted."""
    if payload_format not in list_formats():
        names = ", ".join(list_formats())
        raise _build_error("payload_format", _("Choose one of: %(names)s.") % {"names": names})
    webhook = Webhook(
        account_id=account_id,
        name=name,
        url=_validate_url(url),
        event_types=_validate_event_types(event_types),
        payload_format=payload_format,
        created_by=str(actor),
    )
    secret = f"whsec_{b64encode(secrets.token_bytes(SECRET_BYTES)).decode()}"
    webhook.secret = encrypt_text(secret)
    with recording(account_id, actor) as commit:
        if Webhook.objects.of(account_id).count() >= MAX_WEBHOOKS:
            raise Conflict(
                _("An account has at most %(most)d webhooks. Delete one first.")
                % {"most": MAX_WEBHOOKS}
            )
        webhook.created_at = webhook.updated_at = timezone.now()
        commit.insert(webhook)
    return CreatedWebhook(webhook=webhook, secret=secret)


def update_webhook(
    account_id: UUID,
    webhook_id: UUID,
    values: Mapping[str, Any],
    *,
    actor: Actor,
    commit_id: UUID | None = None,
) -> Webhook:
    """Change name, url, event_types or is_active. Its secret stays the same.

    With `commit_id`, raise Conflict if a later commit has changed the webhook.
    """
    webhook = _lock_webhook(account_id, webhook_id)
    checked = dict(values)
    if "url" in checked and checked["url"] != webhook.url:
        checked["url"] = _validate_url(checked["url"])
    if "event_types" in checked:
        checked["event_types"] = _validate_event_types(checked["event_types"])
    changed = {name: value for name, value in checked.items() if getattr(webhook, name) != value}
    if not changed:
        return webhook
    if commit_id and webhook.commit_id != commit_id:
        raise Conflict(
            _(
                "Someone changed this webhook after you opened this page. Open it again, then make "
                "your change."
            ),
            code="stale_version",
        )
    with recording(account_id, actor) as commit:
        for name, value in changed.items():
            setattr(webhook, name, value)
        webhook.updated_at = timezone.now()
        commit.update(webhook, *changed, "updated_at")
    return webhook


def delete_webhook(account_id: UUID, webhook_id: UUID, *, actor: Actor) -> None:
    """Delete a webhook. Its pending reports are not sent."""
    webhook = _lock_webhook(account_id, webhook_id)
    with recording(account_id, actor) as commit:
        commit.delete(webhook)


def report_changes(account_id: UUID, source: str, references: Sequence[UUID]) -> None:
    """Enqueue the report of changes to each active webhook of the account. Inside `acting`."""
    if references:
        webhooks = Webhook.objects.of(account_id).active().values_list("pk", flat=True)
        enqueue_reports(account_id, list(webhooks), source, references)


def enqueue_reports(
    account_id: UUID, webhooks: Sequence[UUID], source: str, references: Sequence[UUID]
) -> None:
    """Enqueue the report of changes to these webhooks."""
    new_jobs = [
        NewJob(
            job_key=f"{webhook}:{reference}",
            payload={"webhook": str(webhook), "source": source, "reference": str(reference)},
        )
        for webhook in webhooks
        for reference in references
    ]
    publish(account_id, SEND, new_jobs)


def _lock_webhook(account_id: UUID, webhook_id: UUID) -> Webhook:
    rows = Webhook.objects.of(account_id).select_for_update()
    webhook = rows.filter(pk=webhook_id).first()
    if webhook is None:
        raise NotFound(_("Webhook not found."))
    return webhook


def _validate_url(url: str) -> str:
    """Return the normalized URL. Raise Denied or Invalid if no webhook may be sent there."""
    allowed = get_allowed_receivers()
    if not allowed:
        raise Denied(
            _("This installation sends no webhooks. Its operator can allow them."),
            code="webhooks_off",
        )
    try:
        address = validate_address(url, allowed)
        MaxLengthValidator(MAX_LENGTH)(address)  # quoted characters make it longer
    except CannotReach as error:
        raise _build_error("url", _(str(error))) from error
    except ValidationError as error:
        raise _build_error("url", error.messages[0]) from error
    if not is_secure(address, allowed):
        raise _build_error("url", _("Enter an https:// URL, because memories are sent to it."))
    return address


def _validate_event_types(names: Sequence[str]) -> list[str]:
    existing = list_event_types()
    unknown = sorted(set(names) - existing.keys())
    if unknown or not names:
        raise _build_error(
            "event_types", _("Choose one or more of: %(names)s.") % {"names": ", ".join(existing)}
        )
    return sorted(set(names))


def _build_error(path: str, message: str) -> Invalid:
    return Invalid(message, issues=[{"path": path, "message": message}])
