"""Texts as they are kept: in one spelling, without what their account blacks out."""

from collections.abc import Collection
from uuid import UUID

from kmapp.accounts.models import Account
from kmapp.redaction import redact
from kmapp.text.terms import normalise


def clean(text: str, kinds: Collection[str]) -> str:
    """A text without the data of these kinds."""
    return redact(normalise(text), kinds)[0]


def kept_reason(account_id: UUID, reason: str) -> str:
    """What somebody gave as a reason, as it goes on record. Inside `acting`."""
    return clean(reason, Account.objects.get(pk=account_id).redact) if reason else ""
