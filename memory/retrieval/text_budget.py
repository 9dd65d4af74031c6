"""Memories as prompt text within a token budget. Pure except for token counts."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

HEADING = "## Relevant Memory\n\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockEntry:
    """A memory of a prompt block."""

    kind: str
    text: str
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """The text, the indexes of the memories in it, and its size."""

    text: str
    places: Sequence[int]
    tokens: int


def block(
    memories: Iterable[BlockEntry], *, most_tokens: int | None, count: Callable[[str], int]
) -> Block:
    """Return the memories as numbered lines, without those that exceed the budget."""
    text, used = "", 0
    places: list[int] = []
    for place, entry in enumerate(memories):
        line = f"[{len(places) + 1}] [{entry.kind}] (score: {entry.score:.2f})\n{entry.text}\n\n"
        addition = line if text else HEADING + line
        if most_tokens is not None and (size := count(text + addition)) > most_tokens:
            continue
        text, used = text + addition, size if most_tokens is not None else 0
        places.append(place)
    return Block(text=text, places=places, tokens=used if most_tokens is not None else count(text))
