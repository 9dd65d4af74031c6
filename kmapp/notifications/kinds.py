"""Registry of the kinds of events that people are notified about. Apps register their own."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import models
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from kmapp.accounts.permissions import Permission


class Email(models.TextChoices):
    """When a person gets an e-mail about a kind of event."""

    NEVER = "never", _("No e-mail")
    DIGEST = "digest", _("In the digest")
    NOW = "now", _("Immediately")


class Severity(models.TextChoices):
    INFO = "info", _("Information")
    WARNING = "warning", _("Warning")
    CRITICAL = "critical", _("Critical")


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What a notification is about, as it is now. Without a count, the stored one applies.

    The excerpt is for pages only: e-mails and webhooks contain no text of memories.
    """

    title: str = ""
    excerpt: str = ""
    count: int | None = None


# Returns the subjects that still need attention, by their text. Inside `acting`.
Load = Callable[[UUID, Sequence[str]], Mapping[str, Subject]]


@dataclass(frozen=True, slots=True, kw_only=True)
class EventKind:
    """A kind of event. Its name is also the event type of webhooks.

    `text` formats a subject and its count in the active language; `url` is the page that helps.
    """

    name: str
    label: str | Promise
    needs: Permission
    severity: Severity
    icon: str
    text: Callable[[str, int], str]
    url: Callable[[str], str]
    load: Load
    email: Email = Email.DIGEST  # unless a person chooses otherwise


_kinds: dict[str, EventKind] = {}
labels: dict[str, str | Promise] = {}  # of all kinds, by name


def register_kind(kind: EventKind) -> EventKind:
    _kinds[kind.name] = kind
    labels[kind.name] = kind.label
    return kind


def find_kind(name: str) -> EventKind | None:
    """Return a kind, or None if its app no longer registers it."""
    return _kinds.get(name)


def list_kinds(permissions: Collection[Permission] | None = None) -> list[EventKind]:
    """Return all kinds, or those that someone with these permissions may see; worst first."""
    kinds = [k for k in _kinds.values() if permissions is None or k.needs in permissions]
    order = list(Severity)
    return sorted(kinds, key=lambda kind: (-order.index(kind.severity), kind.name))
