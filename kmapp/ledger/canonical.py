"""One byte string per value: what the ledger hashes. Pure.

A digest is computed before the database sees a value and again from what the database gives back,
so only values that survive that trip are allowed: jsonb turns 1e16 into an integer and -0.0 into 0,
and stores no NUL. `check` is the same rule at the door, where a refusal is still cheap.
"""

import hashlib
import json
import math
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

LARGEST_INTEGER = 2**53 - 1  # beyond it neighbouring integers meet in one double
DEEPEST = 128  # twice what the API takes: rows and diffs wrap what they are given
SALT_BYTES = 16

_LEAVES = (bool, int, float, str, datetime, UUID)


class Unstorable(ValueError):
    """A value that would not come back as it went in; `path` is a JSON pointer to it."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path or '/'}: {reason}")
        self.path = path
        self.reason = reason


def canonical(value: Any) -> bytes:
    """Sorted keys (by code point), no spaces, UTF-8."""
    return json.dumps(
        _plain(value, "", 0),
        sort_keys=True,
        ensure_ascii=False,
        allow_nan=False,
        separators=(",", ":"),
    ).encode()


def check(value: Any, path: str = "") -> None:
    """Raise Unstorable unless `value` has a canonical form."""
    _plain(value, path, 0)


def check_text(text: str, path: str = "") -> None:
    """Raise Unstorable if PostgreSQL could not store this text."""
    if "\0" in text:
        raise Unstorable(path, "contains a NUL character")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise Unstorable(path, "contains a lone surrogate") from None


def digest(salt: bytes, value: Any) -> str:
    """What may be said in public about a value: nothing, once the salt is gone."""
    if len(salt) < SALT_BYTES:
        raise ValueError(f"A salt has at least {SALT_BYTES} bytes, this one has {len(salt)}.")
    return hashlib.sha256(salt + canonical(value)).hexdigest()


def step(path: str, key: str | int) -> str:
    """The pointer one level down (RFC 6901)."""
    if isinstance(key, int):
        return f"{path}/{key}"
    return f"{path}/{key.replace('~', '~0').replace('/', '~1')}"


def _plain(value: Any, path: str, depth: int) -> Any:
    """The value in plain JSON types, or Unstorable."""
    if value is None:
        return None
    if isinstance(value, _LEAVES):
        return _leaf(value, path)
    if depth >= DEEPEST:
        raise Unstorable(path, f"is nested deeper than {DEEPEST} levels")
    if isinstance(value, dict):
        return {
            _key(key, path): _plain(item, step(path, key), depth + 1) for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [_plain(item, step(path, n), depth + 1) for n, item in enumerate(value)]
    raise Unstorable(path, f"is a {type(value).__name__}, which has no canonical form")


def _leaf(value: float | str | datetime | UUID, path: str) -> float | str:
    if isinstance(value, str):
        check_text(value, path)
        return str.__str__(value)  # an Enum's own str() is its name
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return _number(value, path)
    if isinstance(value, datetime):
        return _moment(value, path)
    return str(value)


def _number(value: float, path: str) -> float:
    if isinstance(value, float):
        if not math.isfinite(value):
            raise Unstorable(path, "is not a finite number")
        if not value.is_integer():
            return float(value)
    if not -LARGEST_INTEGER <= value <= LARGEST_INTEGER:
        raise Unstorable(path, "is a number beyond ±9007199254740991")
    return int(value)


def _moment(value: datetime, path: str) -> str:
    if value.tzinfo is None:
        raise Unstorable(path, "is a time without a time zone")
    try:
        utc = value.astimezone(UTC)
    except OverflowError:
        raise Unstorable(path, "is a time outside the years 1 to 9999") from None
    return utc.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def _key(key: Any, path: str) -> str:
    if not isinstance(key, str):
        raise Unstorable(path, f"has a key that is a {type(key).__name__}, not text")
    check_text(key, path)
    return str.__str__(key)
