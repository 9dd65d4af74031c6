"""Registry of collections whose texts have vectors."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from kmapp.providers.models import EmbeddingModel

# Makes the vectors of these objects for one model; returns the objects that got none, and why.
Embed = Callable[[EmbeddingModel, UUID, Sequence[UUID]], Mapping[UUID, Exception]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Objects of one app: their vectors, and what is needed to compare two models over them."""

    collections: tuple[str, ...]  # the first one has a vector of every object
    embed: Embed
    # The objects of an account that a search may return.
    findable: Callable[[UUID], "QuerySet[Any]"]
    # Some recent objects, each with a text that should find it.
    examples: Callable[[UUID, int], Mapping[UUID, str]]


_sources: list[Source] = []


def embeds(
    *collections: str,
    findable: Callable[[UUID], "QuerySet[Any]"],
    examples: Callable[[UUID, int], Mapping[UUID, str]],
) -> Callable[[Embed], Embed]:
    """Register the function that makes the vectors of these collections."""

    def register(embed: Embed) -> Embed:
        _sources.append(
            Source(collections=collections, embed=embed, findable=findable, examples=examples)
        )
        return embed

    return register


def sources() -> list[Source]:
    return list(_sources)
