"""Embeddings through any OpenAI-compatible endpoint."""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Literal, Protocol, Self

from django.conf import settings

from kmapp.providers.breaker import get_breaker
from kmapp.providers.client import post_json
from kmapp.providers.concurrent_calls import map_concurrently
from kmapp.providers.errors import BadVectors, Faulted, Refused
from kmapp.providers.job_outages import record_outage
from kmapp.providers.metrics import record_call
from kmapp.providers.models import EmbeddingModel
from kmapp.providers.vector_validation import Unusable, parse_embeddings, parse_vector

Kind = Literal["query", "passage"]
Outcome = list[float] | Unusable  # the vector of a text, or why there is none

PROBES = 2  # texts of a failed batch that are sent alone before all others
# The embedded server has a process for each processor, and each handles one call at a time. So a
# job sends two calls at a time. A large call delays the next one; very small calls are slow.
CONCURRENT_CALLS = 2
MAX_TEXTS = 16
MAX_TOKENS = 2_000  # the server continues a call that timed out, so each call must be short


class Embedder(Protocol):
    def embed(self, texts: Sequence[str], *, kind: Kind) -> list[list[float]]: ...


@dataclass(frozen=True, kw_only=True)
class OpenAIEmbedder:
    model: EmbeddingModel
    base_url: str
    api_key: str
    seconds: float  # for each call
    in_batches: bool  # for jobs: small batches, no circuit breaker because the outbox backs off

    @classmethod
    def for_queries(cls, model: EmbeddingModel) -> Self:
        """Return an embedder for requests: one call under the deadline, with a circuit breaker."""
        return cls(
            model=model,
            base_url=settings.EMBEDDING_BASE_URL,
            api_key=settings.EMBEDDING_API_KEY,
            seconds=settings.EMBEDDING_DEADLINE,
            in_batches=False,
        )

    @classmethod
    def for_passages(cls, model: EmbeddingModel) -> Self:
        """Return an embedder for jobs: small batches and more time."""
        return cls(
            model=model,
            base_url=settings.EMBEDDING_BATCH_BASE_URL,
            api_key=settings.EMBEDDING_API_KEY,
            seconds=settings.EMBEDDING_BATCH_DEADLINE,
            in_batches=True,
        )

    def embed(self, texts: Sequence[str], *, kind: Kind) -> list[list[float]]:
        """Return a vector for each text; raise BadVectors if some texts are at fault."""
        forms = [self._add_prefix(text, kind) for text in texts]
        batches: list[Sequence[str]] = [forms] if forms else []
        if self.in_batches:
            batches = [*split_batches(forms)]
        embed_batch = partial(self._embed_batch, kind=kind)
        with record_outage(self.base_url) if self.in_batches and forms else nullcontext():
            results = map_concurrently(embed_batch, batches, limit=CONCURRENT_CALLS)
        outcomes = [outcome for result in results for outcome in result]
        reasons = {i: str(bad) for i, bad in enumerate(outcomes) if isinstance(bad, Unusable)}
        if reasons:
            raise BadVectors(reasons, [None if isinstance(o, Unusable) else o for o in outcomes])
        return [outcome for outcome in outcomes if not isinstance(outcome, Unusable)]

    def _add_prefix(self, text: str, kind: Kind) -> str:
        """Return the text in the model's form. Servers that know the kind add their own prefix."""
        if self.model.sends_input_type:
            return text
        return (self.model.query_prefix if kind == "query" else self.model.passage_prefix) + text

    def _embed_batch(self, batch: Sequence[str], kind: Kind) -> list[Outcome]:
        """Return the result of each text. After a failed batch, each text is sent alone."""
        try:
            return self._request_embeddings(batch, kind)
        except (Refused, Faulted) as error:
            if self.in_batches and len(batch) > 1:
                probes = [self._embed_alone(text, kind) for text in batch[:PROBES]]
                down = all(isinstance(probe, Unusable) for probe in probes)
                if not (down and isinstance(error, Faulted)):
                    return probes + [self._embed_alone(text, kind) for text in batch[PROBES:]]
            if isinstance(error, Faulted):
                raise  # the provider fails for every text
            return [Unusable(str(error)) for _ in batch]

    def _embed_alone(self, text: str, kind: Kind) -> Outcome:
        try:
            [outcome] = self._request_embeddings([text], kind)
        except (Refused, Faulted) as error:
            return Unusable(str(error))
        return outcome

    def _request_embeddings(self, batch: Sequence[str], kind: Kind) -> list[Outcome]:
        circuit = nullcontext() if self.in_batches else get_breaker(self.base_url).guard()
        extra = {"input_type": kind} if self.model.sends_input_type else None
        with record_call("embedding", kind) as call, circuit:
            answer = post_json(
                self.base_url,
                self.api_key,
                lambda client: client.embeddings.with_raw_response.create(
                    model=self.model.name, input=list(batch), extra_body=extra
                ),
                self.seconds,
            )
            outcomes = self._parse_response(answer, len(batch))
            bad = any(isinstance(outcome, Unusable) for outcome in outcomes)
            call.outcome = BadVectors.code if bad else "ok"
            return outcomes

    def _parse_response(self, answer: object, count: int) -> list[Outcome]:
        try:
            raws = parse_embeddings(answer, count=count)
        except Unusable as bad:
            return [bad] * count
        except ValueError as error:
            raise Faulted(f"The provider's answer is not understood: {error}") from error
        return [self._parse_vector(raw) for raw in raws]

    def _parse_vector(self, raw: object) -> Outcome:
        try:
            return parse_vector(raw, dimensions=self.model.dimensions)
        except Unusable as bad:
            return bad


def estimate_tokens(text: str) -> int:
    """Estimate the number of tokens, rather too high, without loading a tokenizer."""
    ascii_letters = len(text.encode("ascii", "ignore"))
    return ascii_letters // 3 + (len(text) - ascii_letters) + 1


def split_batches(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield the texts in order, in batches within both limits; a longer text is alone."""
    start = spent = 0
    for position, text in enumerate(texts):
        cost = estimate_tokens(text)
        if position > start and (position - start == MAX_TEXTS or spent + cost > MAX_TOKENS):
            yield texts[start:position]
            start, spent = position, 0
        spent += cost
    if start < len(texts):
        yield texts[start:]
