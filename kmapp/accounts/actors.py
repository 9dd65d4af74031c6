"""Actors of the ledger, stored as `key:<uuid>`, `user:<uuid>` or `system`."""

from dataclasses import dataclass
from typing import Literal, Self
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Actor:
    """An API key, a person, or the product itself."""

    kind: Literal["key", "user", "system"]
    id: UUID | None = None

    def __str__(self) -> str:
        return f"{self.kind}:{self.id}" if self.id else self.kind

    @classmethod
    def parse(cls, word: str) -> Self:
        kind, _, ident = word.partition(":")
        if kind not in ("key", "user", "system"):
            raise ValueError(f"{word!r} names no actor.")
        return cls(kind, UUID(ident) if ident else None)  # type: ignore[arg-type]


SYSTEM = Actor("system")
