"""Outbox handlers that report new notifications to webhooks and people."""

from collections.abc import Sequence
from datetime import datetime
from smtplib import SMTPException, SMTPRecipientsRefused, SMTPServerDisconnected
from uuid import UUID

from django.core.mail import EmailMessage

from kmapp.accounts.acting import acting
from kmapp.notifications.actions import RAISED
from kmapp.notifications.digests import SEND, select_new
from kmapp.notifications.email_messages import build_message
from kmapp.notifications.kinds import Email
from kmapp.notifications.models import Notification
from kmapp.notifications.recipients import list_recipients
from kmapp.notifications.webhook_changes import SOURCE
from kmapp.notifications.webhooks.actions import report_changes
from kmapp.outbox.publish import NewJob, publish
from kmapp.outbox.registry import Job, PermanentFailure, RetryLater, register_handler

PAUSE = 60  # seconds until an unreachable mail server is tried again
MAIL_SERVER = "mail_server"
PERMANENT = 500  # the lowest SMTP reply code of a permanent failure


@register_handler(RAISED, name="kmapp.notifications.raised")
def report_notification(jobs: Sequence[Job]) -> None:
    """Enqueue the webhooks, and an e-mail for each person who wants it immediately."""
    for job in jobs:
        pk = UUID(job.payload["notification"])
        with acting(job.account_id):
            row = Notification.objects.of(job.account_id).open().filter(pk=pk).first()
            if row is None:
                continue
            report_changes(job.account_id, SOURCE, [pk])
            new_jobs = [
                NewJob(
                    job_key=f"{each.user.pk}:{pk}",
                    payload={"user": str(each.user.pk), "notification": str(pk)},
                )
                for each in list_recipients(job.account_id)
                if row.kind in {kind.name for kind in each.kinds(Email.NOW)}
            ]
            publish(job.account_id, SEND, new_jobs)


@register_handler(SEND, name="kmapp.notifications.send_email")
def send_emails(jobs: Sequence[Job]) -> None:
    """Send each e-mail, unless the person left, unsubscribed, or nothing needs attention."""
    for job in jobs:
        message = _build_email(job)
        if message:
            _send_email(message)


def _build_email(job: Job) -> EmailMessage | None:
    with acting(job.account_id):
        members = list_recipients(job.account_id, UUID(job.payload["user"]))
        if not members:
            return None
        [recipient] = members
        rows = Notification.objects.of(job.account_id).open().order_by("-last_at", "-pk")
        since = None
        if "since" in job.payload:
            since = datetime.fromisoformat(job.payload["since"])
            chosen = select_new(recipient, list(rows), since)
        else:
            names = [kind.name for kind in recipient.kinds(Email.NOW)]
            chosen = list(rows.filter(pk=job.payload["notification"], kind__in=names))
        return build_message(recipient, chosen, since=since, message_id=job.event_id)


def _send_email(message: EmailMessage) -> None:
    """Send a message. While the mail server is unreachable, the job waits and uses no attempts."""
    try:
        message.send()
    except SMTPRecipientsRefused as error:
        # Without the address: the error is shown to all members.
        if any(code < PERMANENT for code, _reply in error.recipients.values()):
            raise SMTPException("The mail server refused the address for now.") from error
        raise PermanentFailure("The mail server refused the address.") from error
    except OSError as error:  # every SMTPException is one
        if isinstance(error, SMTPException) and not isinstance(error, SMTPServerDisconnected):
            raise
        raise RetryLater(MAIL_SERVER, seconds=PAUSE, for_all=True) from error
