"""Index versions: variants of chunking. Pure.

Two index versions live side by side: each has chunks, postings and vectors of its own.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cut:
    """How one index version cuts texts."""

    tokens: int


CUTS: Mapping[str, Cut] = {"1": Cut(tokens=360), "2": Cut(tokens=160)}


def collection_of(index_version: str) -> str:
    """Where the postings and vectors of an index version are."""
    return f"knowledge.{index_version}"
