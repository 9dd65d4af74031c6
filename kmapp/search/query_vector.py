"""The vector of a query within the deadline, or the reason why there is none."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any, Self
from uuid import UUID

import numpy as np
from django.conf import settings
from numpy.typing import NDArray
from pgvector import HalfVector

from kmapp.providers.active_models import active_model
from kmapp.providers.embedding import OpenAIEmbedder
from kmapp.providers.errors import Faulted, ProviderError
from kmapp.providers.models import EmbeddingModel
from kmapp.providers.query_cache import get_query_vector
from kmapp.search.candidate_signals import CosineScale

PROBE = "One text, to see whether the embedder responds."


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryVector:
    """A query's vector, and the model whose vectors it can be compared with."""

    model: EmbeddingModel
    literal: str  # the vector in SQL

    @classmethod
    def from_floats(cls, model: EmbeddingModel, vector: Sequence[float]) -> Self:
        # Postgres parses it for each statement. Five digits are exact enough for half precision.
        digits = [f"{number:.5g}" for number in HalfVector(list(vector)).to_list()]
        return cls(model=model, literal=f"[{','.join(digits)}]")

    def as_array(self) -> "NDArray[np.float32]":
        return np.array(self.literal[1:-1].split(","), dtype=np.float32)

    @property
    def sql_type(self) -> str:
        return f"halfvec({self.model.dimensions:d})"

    @property
    def distance_sql(self) -> str:
        """Return the distance in SQL, in the only form that matches the model's index."""
        return f"embedding::{self.sql_type} <=> %s::{self.sql_type}"


def load_query_vector(
    account_id: UUID, query: str, decisions: list[Mapping[str, Any]]
) -> QueryVector | None:
    """Return the vector of a query, or None with a decision that states the reason."""
    model = active_model()
    embedder = OpenAIEmbedder.for_queries(model)
    started = monotonic()
    try:
        vector = get_query_vector(account_id, query, model=model, embedder=embedder)
    except ProviderError as error:
        message = "Keyword search only: the embedder did not respond."
        deadline = settings.EMBEDDING_DEADLINE
        decisions.append(describe_failure(error.code, message, started, deadline))
        return None
    if vector.cached:
        decisions.append(
            {"code": "km_query_vector_cached", "message": "The query vector was cached."}
        )
    return QueryVector.from_floats(model, vector.vector)


def fails_for_this_text_only(text: str) -> bool:
    """Return whether the embedder fails for this query again but responds to another one."""
    embedder = OpenAIEmbedder.for_queries(active_model())
    try:
        embedder.embed([text], kind="query")
    except Faulted:
        pass
    except ProviderError:
        return False
    else:
        return False
    try:
        embedder.embed([PROBE], kind="query")
    except ProviderError:
        return False
    return True


def describe_failure(
    code: str, message: str, started: float, deadline: float, **details: str
) -> dict[str, Any]:
    return {
        "code": code,
        "message": message,
        **details,
        "waited_ms": round((monotonic() - started) * 1000),
        "deadline_ms": round(deadline * 1000),
    }


def build_cosine_scale(model: EmbeddingModel) -> CosineScale:
    return CosineScale(low=model.cosine_low, high=model.cosine_high)
