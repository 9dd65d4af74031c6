"""Primary keys: UUIDv7, in time order, so that indexes stay compact."""

from datetime import UTC, datetime
from typing import TypeAlias
from uuid import UUID

from uuid_utils import compat

VERSION = 7
IdText: TypeAlias = str  # str(UUID(…))


def uuid7() -> UUID:
    value: UUID = compat.uuid7()
    return value


def parse_uuid(text: str) -> UUID | None:
    """Return the UUID in a text, or None if it is not one."""
    try:
        return UUID(text)
    except ValueError:
        return None


def first_uuid7(moment: datetime) -> UUID:
    """Return the smallest UUIDv7 of this millisecond, as a bound for ranges of keys."""
    milliseconds = int(moment.timestamp() * 1000)
    return UUID(int=milliseconds << 80 | 7 << 76 | 2 << 62)


def get_uuid7_time(key: UUID) -> datetime | None:
    """Return when a UUIDv7 was created, by the clock of its host; None for another version."""
    if key.version != VERSION:
        return None
    return datetime.fromtimestamp((key.int >> 80) / 1000, tz=UTC)
