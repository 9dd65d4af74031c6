"""A notification as pages, e-mails and webhooks show it, in the active language."""

from dataclasses import dataclass
from typing import Self
from urllib.parse import urlencode
from uuid import UUID

from django.conf import settings

from kmapp.notifications.kinds import EventKind, Subject, find_kind
from kmapp.notifications.models import Notification

# Query parameter of links in messages: people may have selected another account.
ACCOUNT_PARAMETER = "account"


@dataclass(frozen=True, slots=True, kw_only=True)
class NotificationLine:
    """The text and the subject's title in one line, and the page that helps.

    `kind` is None if its app is no longer installed.
    """

    kind: EventKind | None
    text: str
    title: str
    count: int
    path: str
    account_id: UUID

    @classmethod
    def of(cls, row: Notification, subject: Subject | None) -> Self:
        """Describe a notification; without a subject, as it was when it was resolved."""
        kind = find_kind(row.kind)
        count = subject.count if subject and subject.count is not None else row.count
        return cls(
            kind=kind,
            text=kind.text(row.subject, count) if kind else row.kind,
            title=" ".join(subject.title.split()) if subject else "",
            count=count,
            path=kind.url(row.subject) if kind else "",
            account_id=row.account_id,
        )

    @property
    def url(self) -> str:
        """Return the full URL of the page that helps, for messages without a request."""
        return build_account_url(self.path, self.account_id)


def build_account_url(path: str, account_id: UUID) -> str:
    """Return the full URL of a page, which opens it in this account."""
    separator = "&" if "?" in path else "?"
    query = urlencode({ACCOUNT_PARAMETER: str(account_id)})
    return f"{settings.PUBLIC_URL}{path}{separator}{query}"
