"""Embeddings through any OpenAI-compatible endpoint."""

from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Literal, Protocol, Self

from django.conf import settings

from kmapp.providers.batching import batches
from kmapp.providers.breaker import breaker_for
from kmapp.providers.client import Question, post_json
from kmapp.providers.errors import BadVectors, Faulted, Refused
from kmapp.providers.metrics import record_call
from kmapp.providers.vectors import Unusable, read_answer, read_vector

Kind = Literal["query", "passage"]
# What one call brought: for each text its vector, or why there is none.
Outcome = list[float] | Unusable

PROBES = 2  # texts that a broken batch is tried with alone, before all of them are


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
    def for_queries(cls, model: ModelForm) -> Self:
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
    def for_passages(cls, model: ModelForm) -> Self:
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
        """Return a vector for each text; raise BadVectors if some texts are at fault."""
        forms = [self._form(text, kind) for text in texts]
        outcomes = [o for batch in self._batches(forms) for o in self._each(batch, kind)]
        reasons = {i: str(bad) for i, bad in enumerate(outcomes) if isinstance(bad, Unusable)}
        if reasons:
            raise BadVectors(reasons, [None if isinstance(o, Unusable) else o for o in outcomes])
        return [outcome for outcome in outcomes if not isinstance(outcome, Unusable)]

    def _form(self, text: str, kind: Kind) -> str:
        """Return the text in the model's form. Servers that know the kind add their own prefix."""
        if self.model.sends_input_type:
            return text
        return (self.model.query_prefix if kind == "query" else self.model.passage_prefix) + text

    def _batches(self, forms: Sequence[str]) -> Iterable[Sequence[str]]:
        if self.in_batches:
            return batches(forms)
        return [forms] if forms else []

    def _each(self, batch: Sequence[str], kind: Kind) -> list[Outcome]:
        """Return the result of each text. After a failed batch, each text is sent alone."""
        try:
            return self._call(batch, kind)
        except (Refused, Faulted) as error:
            if self.in_batches and len(batch) > 1:
                probes = [self._alone(text, kind) for text in batch[:PROBES]]
                down = all(isinstance(probe, Unusable) for probe in probes)
                if not (down and isinstance(error, Faulted)):
                    return probes + [self._alone(text, kind) for text in batch[PROBES:]]
            if isinstance(error, Faulted):
                raise  # whatever is asked: it is the provider
            return [Unusable(str(error)) for _ in batch]

    def _alone(self, text: str, kind: Kind) -> Outcome:
        try:
            [outcome] = self._call([text], kind)
        except (Refused, Faulted) as error:
            return Unusable(str(error))
        return outcome

    def _call(self, batch: Sequence[str], kind: Kind) -> list[Outcome]:
        circuit = breaker_for(self.base_url).guard() if self.guarded else nullcontext()
        with record_call("embedding", kind) as call, circuit:
            answer = post_json(
                self.base_url, self.api_key, self._question(batch, kind), self.seconds
            )
            outcomes = self._read(answer, len(batch))
            bad = any(isinstance(outcome, Unusable) for outcome in outcomes)
            call.outcome = BadVectors.code if bad else "ok"
            return outcomes

    def _question(self, batch: Sequence[str], kind: Kind) -> Question:
        extra = {"input_type": kind} if self.model.sends_input_type else None
        return lambda client: client.embeddings.with_raw_response.create(
            model=self.model.name, input=list(batch), extra_body=extra
        )

    def _read(self, answer: object, count: int) -> list[Outcome]:
        try:
            raws = read_answer(answer, count=count)
        except Unusable as bad:
            return [bad] * count
        except ValueError as error:
            raise Faulted(f"The provider's answer is not understood: {error}") from error
        return [self._vector(raw) for raw in raws]

    def _vector(self, raw: object) -> Outcome:
        try:
            return read_vector(raw, dimensions=self.model.dimensions)
        except Unusable as bad:
            return bad
