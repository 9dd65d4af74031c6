"""Parts of calls as they are kept: once for each account, under a salted digest of their text."""

import json
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.utils.crypto import salted_hmac


def written(value: Any) -> str:
    """As JSON, in the order in which it came: models read tools in it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def body_id(account_id: UUID, value: Mapping[str, Any] | str) -> UUID:
    """The same for the same value in one account; nobody can tell the value from it."""
    return digest_of(account_id, written(value))


def digest_of(account_id: UUID, text: str) -> UUID:
    made = salted_hmac(f"context.body.{account_id}", text, algorithm="sha256").digest()
    return UUID(bytes=made[:16], version=5)
