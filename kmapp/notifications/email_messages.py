"""E-mails about notifications: a digest, or one notification that cannot wait.

They are in the language and time zone of the person, and contain no content of memories but titles.
Links work without a request, because workers send them; each message can be unsubscribed with one
click (RFC 8058).
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.core import signing
from django.core.mail import EmailMessage
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone, translation

from kmapp.accounts.acting import acting
from kmapp.accounts.models import User
from kmapp.notifications.actions import save_settings
from kmapp.notifications.close_notifications import load_subjects
from kmapp.notifications.models import Notification
from kmapp.notifications.notification_line import NotificationLine, build_account_url
from kmapp.notifications.recipients import Recipient

SALT = "kmapp.notifications.unsubscribe"
MAX_NOTIFICATIONS = 20  # notifications in one message
UNSUBSCRIBE_TIME = timedelta(days=90)  # lifetime of a link, because messages are forwarded
FOLDER = "web/notifications/email"


def build_message(
    recipient: Recipient, rows: Sequence[Notification], *, since: datetime | None, message_id: UUID
) -> EmailMessage | None:
    """Build the digest since a time, or without it a message about one notification.

    Return None if none of the notifications needs attention any more. Inside `acting`.
    """
    subjects = load_subjects(recipient.account.pk, rows)
    with translation.override(recipient.language), timezone.override(recipient.zone):
        lines = [
            NotificationLine.of(row, subject)
            for row in rows
            if (subject := subjects.get((row.kind, row.subject)))
        ]
        if not lines:
            return None
        unsubscribe = settings.PUBLIC_URL + reverse(
            "web:unsubscribe", args=[sign_unsubscription(recipient)]
        )
        context = {
            "account": recipient.account.name,
            "name": recipient.user.first_name or recipient.user.username,
            "lines": lines[:MAX_NOTIFICATIONS],
            "more": max(0, len(lines) - MAX_NOTIFICATIONS),
            "number": len(lines),
            "since": since,
            "all_url": build_account_url(reverse("web:notifications"), recipient.account.pk),
            "settings_url": build_account_url(
                reverse("web:notification_settings"), recipient.account.pk
            ),
            "unsubscribe_url": unsubscribe,
        }
        subject_line = render_to_string(f"{FOLDER}/subject.txt", context)
        return EmailMessage(
            subject=settings.ACCOUNT_EMAIL_SUBJECT_PREFIX + " ".join(subject_line.split()),
            body=render_to_string(f"{FOLDER}/message.txt", context),
            to=[recipient.user.email],
            headers={
                # The same for each attempt, so that mail servers can drop a repetition.
                "Message-ID": f"<{message_id}@kmapp>",
                "List-Unsubscribe": f"<{unsubscribe}>",
                "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
                "Auto-Submitted": "auto-generated",
            },
        )


def sign_unsubscription(recipient: Recipient) -> str:
    ids = [recipient.account.pk.hex, recipient.user.pk.hex]
    return signing.dumps(ids, salt=SALT)


def parse_unsubscription(token: str) -> tuple[UUID, UUID] | None:
    """Return the account and the person of a link, or None if kmapp did not sign it lately."""
    try:
        account, user = signing.loads(token, salt=SALT, max_age=UNSUBSCRIBE_TIME)
    except signing.BadSignature:
        return None
    return UUID(account), UUID(user)


def unsubscribe(account_id: UUID, user_id: UUID) -> None:
    """Stop all e-mails about an account to a person."""
    with acting(account_id):
        user = User.objects.filter(pk=user_id).first()
        if user:
            save_settings(account_id, user, {"sends_email": False})
