"""Registry of collections whose texts have vectors."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import QuerySet, Value
from django.db.models.functions import Coalesce, Left, NullIf

from kmapp.providers.models import EmbeddingModel

EXAMPLE_LENGTH = 80  # characters
# Embeds objects for one model; returns the errors of objects that have no vector.
EmbedObjects = Callable[[EmbeddingModel, UUID, Sequence[UUID]], Mapping[UUID, Exception]]


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingSource:
    """Objects of one app: how to embed them, and what a comparison of two models needs."""

    collections: tuple[str, ...]  # the first one has a vector of every object
    embed: EmbedObjects
    findable: Callable[[UUID], "QuerySet[Any]"]  # objects that a search may return
    examples: Callable[[UUID, int], Mapping[UUID, str]]  # recent objects with their texts


_sources: list[EmbeddingSource] = []


def register_source(
    *collections: str,
    findable: Callable[[UUID], "QuerySet[Any]"],
    examples: Callable[[UUID, int], Mapping[UUID, str]],
) -> Callable[[EmbedObjects], EmbedObjects]:
    """Register the function that embeds the objects of these collections."""

    def register(embed: EmbedObjects) -> EmbedObjects:
        _sources.append(
            EmbeddingSource(
                collections=collections, embed=embed, findable=findable, examples=examples
            )
        )
        return embed

    return register


def load_examples(rows: "QuerySet[Any]", number: int, *, title: str, text: str) -> dict[UUID, str]:
    """Return recent rows with their title or beginning, as queries that should find them."""
    begins = Coalesce(NullIf(title, Value("")), Left(text, EXAMPLE_LENGTH))
    return dict(rows.order_by("-created_at", "-pk").values_list("pk", begins)[:number])


def list_sources() -> list[EmbeddingSource]:
    return list(_sources)
