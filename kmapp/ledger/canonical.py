"""Canonical JSON bytes, which the ledger hashes. Pure.

A digest is computed before a value is stored and again from what the database returns, so only
values that do not change in between are allowed: jsonb turns 1e16 into an integer and -0.0 into 0,
and stores no NUL. `check_storable` applies the same rule to input, where a refusal is still cheap.
"""

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import repeat
from typing import Any, TypeAlias
from uuid import UUID

from kmapp.database.shared_values import has_one_value

MAX_INTEGER = 2**53 - 1  # larger integers are not exact as doubles
MAX_DEPTH = 128  # twice what the API accepts: rows and diffs wrap their input
SALT_BYTES = 16
MAX_STEP_LENGTH = 100  # characters of one step of a path in messages

# The path of a value as a linked list, last step first. Joining text at every step would take
# quadratic time for a long key above many items.
Trail: TypeAlias = "tuple[Trail, str | int] | None"


class Unstorable(ValueError):
    """A value that the database would not return unchanged, at a `path` such as nodes.3.slots."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}" if path else reason)
        self.path = path
        self.reason = reason


_ENCODER = json.JSONEncoder(
    sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":")
)


def encode_canonical(value: Any) -> bytes:
    """Encode a value with keys sorted by code point, without spaces, in UTF-8."""
    return _ENCODER.encode(_normalize(value, None, 0)).encode()


def encode_canonical_records(
    columns: Mapping[str, Sequence[Any]], is_included: Callable[[Any], bool] = lambda _value: True
) -> list[bytes]:
    """Encode records like `encode_canonical`; `columns` has their values by ASCII key.

    Values that are not included are left out. One that all records have is encoded once.
    """
    parts: list[Iterable[str]] = []
    for key in sorted(columns):
        values = columns[key]
        if has_one_value(values):
            parts.append(repeat(_encode_part(key, values[0], is_included), len(values)))
        else:
            parts.append([_encode_part(key, value, is_included) for value in values])
    records = zip(*parts, strict=True)
    return [f"{{{','.join(filter(None, record))}}}".encode() for record in records]


def _encode_part(key: str, value: Any, is_included: Callable[[Any], bool]) -> str:
    if not is_included(value):
        return ""
    return f'"{key}":{_ENCODER.encode(_normalize(value, (None, key), 1))}'


def check_storable(value: Any, path: str = "") -> None:
    """Raise Unstorable unless the value at `path` has a canonical form."""
    _normalize(value, (None, path) if path else None, 0)


def digest(salt: bytes, value: Any) -> str:
    """Return the salted digest of a value. It reveals nothing once the salt is deleted."""
    return digest_encoded(salt, encode_canonical(value))


def digest_encoded(salt: bytes, encoded: bytes) -> str:
    """Return the digest of a value that `encode_canonical` has encoded."""
    if len(salt) < SALT_BYTES:
        raise ValueError(f"A salt needs at least {SALT_BYTES} bytes; this one has {len(salt)}.")
    return hashlib.sha256(salt + encoded).hexdigest()


def find_unstorable_character(text: str) -> str | None:
    """Return why PostgreSQL cannot store this text, or None if it can."""
    if "\0" in text:
        return "contains a NUL character"
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            return "contains a lone surrogate"
    return None


def format_path(trail: Trail) -> str:
    """Return a path in the notation of the API: nodes.3.slots."""
    steps = []
    while trail:
        trail, step = trail
        text = str(step)
        steps.append(text if len(text) <= MAX_STEP_LENGTH else f"{text[:MAX_STEP_LENGTH]}…")
    return ".".join(reversed(steps))


def _normalize(value: Any, trail: Trail, depth: int) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if type(value) is str and value.isascii() and "\0" not in value:  # as most values
        return value
    if isinstance(value, int | float | str | datetime | UUID):
        return _normalize_scalar(value, trail)
    if depth >= MAX_DEPTH:
        raise Unstorable(format_path(trail), f"is nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, dict):
        return {
            key
            if type(key) is str and key.isascii() and "\0" not in key
            else _normalize_key(key, trail): (
                item
                if type(item) is str and item.isascii() and "\0" not in item
                else _normalize(item, (trail, key), depth + 1)
            )
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [
            _normalize(item, (trail, position), depth + 1) for position, item in enumerate(value)
        ]
    raise Unstorable(
        format_path(trail), f"is a {type(value).__name__}, which has no canonical form"
    )


def _normalize_scalar(value: float | str | datetime | UUID, trail: Trail) -> float | str:
    if isinstance(value, str):
        return _normalize_text(value, trail)
    if isinstance(value, int | float):
        return _normalize_number(value, trail)
    return _normalize_time(value, trail) if isinstance(value, datetime) else str(value)


def _normalize_text(value: str, trail: Trail) -> str:
    if reason := find_unstorable_character(value):
        raise Unstorable(format_path(trail), reason)
    return str.__str__(value)  # an Enum's own str() is its name


def _normalize_number(value: float, trail: Trail) -> float:
    if isinstance(value, float):
        if not math.isfinite(value):
            raise Unstorable(format_path(trail), "is not a finite number")
        if not value.is_integer():
            return float(value)
    if not -MAX_INTEGER <= value <= MAX_INTEGER:
        raise Unstorable(format_path(trail), f"is a number beyond ±{MAX_INTEGER}")
    return int(value)


def _normalize_time(value: datetime, trail: Trail) -> str:
    if value.tzinfo is None:
        raise Unstorable(format_path(trail), "is a time without a time zone")
    try:
        utc = value.astimezone(UTC)
    except OverflowError:
        raise Unstorable(format_path(trail), "is a time outside the years 1 to 9999") from None
    return utc.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def _normalize_key(key: Any, trail: Trail) -> str:
    if not isinstance(key, str):
        raise Unstorable(format_path(trail), f"has a key that is a {type(key).__name__}, not text")
    return _normalize_text(key, trail)
