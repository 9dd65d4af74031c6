"""Redaction of texts before they are stored, by the account's kinds of personal data."""

from collections.abc import Collection
from typing import Any
from uuid import UUID

from kmapp.accounts.models import Account
from kmapp.security.pii import redact, redact_json
from kmapp.text.terms import normalise


def redact_text(text: str, kinds: Collection[str]) -> str:
    return redact(normalise(text), kinds)[0]


def redact_value(value: Any, kinds: Collection[str]) -> Any:
    """Return a text or a JSON container as it is stored; other values stay unchanged."""
    if isinstance(value, str):
        return redact_text(value, kinds)
    return redact_json(value, kinds)[0] if isinstance(value, dict | list | tuple) else value


def redact_reason(account_id: UUID, reason: str) -> str:
    """Return a reason as it is stored: redacted by the account's policy. Inside `acting`."""
    return redact_text(reason, Account.objects.get(pk=account_id).redact) if reason else ""
