"""Parts of calls as they are kept: once for each account, under a salted digest of their text."""

import json
import marshal
from functools import lru_cache
from hashlib import blake2b
from hmac import HMAC
from typing import Any
from uuid import UUID

from django.utils.crypto import salted_hmac

MOST = 100_000  # digests that are remembered
PLAIN = 2  # the version of marshal that writes equal values alike: without references

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def written(value: Any) -> str:
    """As JSON, in the order in which it came: models read tools in it."""
    return _encode(value)


def digest_of(account_id: UUID, text: str) -> UUID:
    """The same for the same text in one account; nobody can tell the text from it."""
    made = _salted(account_id).copy()
    made.update(text.encode())
    return UUID(bytes=made.digest()[:16], version=5)


def body_of(account_id: UUID, value: Any) -> UUID:
    """The digest of a part as it is written. A conversation brings its parts with every call.

    So they are remembered, by what they hold: neither they nor what is written of them is kept.
    """
    held = blake2b(marshal.dumps(value, PLAIN), digest_size=16).digest()
    known = _known.get((account_id, held))
    if known is None:
        if len(_known) >= MOST:
            _known.clear()  # rare, and made anew in no time
        known = _known[account_id, held] = digest_of(account_id, written(value))
    return known


_known: dict[tuple[UUID, bytes], UUID] = {}


@lru_cache(maxsize=1_000)
def _salted(account_id: UUID) -> HMAC:
    """The key is made once, not for each of the hundreds of parts of a call."""
    return salted_hmac(f"context.body.{account_id}", "", algorithm="sha256")
