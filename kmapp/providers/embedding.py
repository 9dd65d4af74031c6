"""Text to vectors, through any OpenAI-compatible endpoint."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Literal, Protocol

from django.conf import settings

from kmapp.providers.batching import batches
from kmapp.providers.breaker import breaker_for
from kmapp.providers.client import ask
from kmapp.providers.errors import BadVectors, ProviderError, Refused
from kmapp.providers.metrics import observe
from kmapp.providers.vectors import Unusable, read_answer, read_vector

Kind = Literal["query", "passage"]
# What one call brought: for each text its vector, or why there is none.
Outcome = list[float] | Unusable


class Embedder(Protocol):
    """Makes vectors of texts, in their order."""

    def embed(self, texts: Sequence[str], *, kind: Kind) -> list[list[float]]: ...


class ModelForm(Protocol):
    """What a client must know of an embedding model; `EmbeddingModel` rows are that."""

    @property
    def name(self) -> str: ...
    @property
    def dimensions(self) -> int: ...
    @property
    def query_prefix(self) -> str: ...
    @property
    def passage_prefix(self) -> str: ...
    @property
    def sends_input_type(self) -> bool: ...


@dataclass(frozen=True, kw_only=True)
class OpenAIEmbedder:
    """Asks one endpoint for one model's vectors."""

    model: ModelForm
    base_url: str
    api_key: str
    seconds: float  # for each call
    in_batches: bool
    guarded: bool

    @classmethod
    def for_queries(cls, model: ModelForm) -> "OpenAIEmbedder":
        """Somebody is waiting: one call under the deadline, none while the circuit is open."""
        return cls(
            model=model,
            base_url=settings.EMBEDDING_BASE_URL,
            api_key=settings.EMBEDDING_API_KEY,
            seconds=settings.EMBEDDING_DEADLINE,
            in_batches=False,
            guarded=True,
        )

    @classmethod
    def for_passages(cls, model: ModelForm) -> "OpenAIEmbedder":
        """Nobody is waiting: small batches, more time. The outbox backs off, so no circuit."""
        return cls(
            model=model,
            base_url=settings.EMBEDDING_BATCH_BASE_URL,
            api_key=settings.EMBEDDING_API_KEY,
            seconds=settings.EMBEDDING_BATCH_DEADLINE,
            in_batches=True,
            guarded=False,
        )

    def embed(self, texts: Sequence[str], *, kind: Kind) -> list[list[float]]:
        """A vector for each text, or ProviderError; BadVectors when only some texts are at fault."""
        forms = [self._form(text, kind) for text in texts]
        outcomes: list[Outcome] = []
        for batch in batches(forms) if self.in_batches else [forms]:
            outcomes += self._each(batch, kind)
        reasons = {i: str(bad) for i, bad in enumerate(outcomes) if isinstance(bad, Unusable)}
        vectors = [None if isinstance(bad, Unusable) else bad for bad in outcomes]
        if reasons:
            raise BadVectors(reasons, vectors)
        return [vector for vector in vectors if vector is not None]
