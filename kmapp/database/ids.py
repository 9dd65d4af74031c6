"""Primary keys: UUIDv7 made in Python, in time order, so that indexes stay compact."""

from typing import TypeAlias
from uuid import UUID

from uuid_utils import compat

IdText: TypeAlias = str  # an id as Postgres spells it: str(UUID(…))


def uuid7() -> UUID:
    """Return a new UUIDv7 (RFC 9562)."""
    value: UUID = compat.uuid7()
    return value
