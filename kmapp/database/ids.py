"""Primary keys: UUIDv7, in time order, so that indexes stay compact."""

from typing import TypeAlias
from uuid import UUID

from uuid_utils import compat

IdText: TypeAlias = str  # str(UUID(…))


def uuid7() -> UUID:
    value: UUID = compat.uuid7()
    return value
