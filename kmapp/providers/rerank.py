"""Reranking through Jina's and Cohere's `/rerank` endpoint."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from django.conf import settings

from kmapp.providers.breaker import breaker_for
from kmapp.providers.client import post_json, posted
from kmapp.providers.errors import Faulted
from kmapp.providers.metrics import record_call

PATH = "/rerank"


def configured() -> bool:
    """Return whether there is a reranker. Without one, results remain in their order."""
    return bool(settings.RERANK_BASE_URL)


@dataclass(frozen=True, kw_only=True)
class HttpReranker:
    """A client for requests: one call under a deadline, with a circuit breaker."""

    model: str
    base_url: str
    api_key: str
    seconds: float

    @classmethod
    def from_settings(cls) -> Self:
        return cls(
            model=settings.RERANK_MODEL,
            base_url=settings.RERANK_BASE_URL,
            api_key=settings.RERANK_API_KEY,
            seconds=settings.RERANK_DEADLINE,
        )

    def relevance(self, query: str, texts: Sequence[str]) -> list[float]:
        body = {
            "model": self.model,
            "query": query,
            "documents": list(texts),
            "top_n": len(texts),
        }
        # A circuit of its own, because embeddings at the same address may work.
        circuit = breaker_for(self.base_url + PATH).guard()
        with record_call("rerank", "query") as call, circuit:
            request = posted(PATH, body)
            answer = post_json(self.base_url, self.api_key, request, self.seconds)
            scores = read_answer(answer, count=len(texts))
            call.outcome = "ok"
            return scores


def read_answer(answer: object, *, count: int) -> list[float]:
    """Return the relevance of each text in order, from 0 to 1; raise Faulted otherwise."""
    results = answer.get("results") if isinstance(answer, Mapping) else None
    if not isinstance(results, list):
        raise Faulted("The reranker's response has no list of results.")
    scores = dict(map(_result, results))
    if len(results) != count or scores.keys() != set(range(count)):
        raise Faulted(f"The reranker received {count} texts and returned results for others.")
    return [scores[number] for number in range(count)]


def _result(result: Any) -> tuple[int, float]:
    try:
        index, score = result["index"], float(result["relevance_score"])
    except (TypeError, ValueError, LookupError) as error:
        raise Faulted("A result of the reranker is not understood.") from error
    if type(index) is not int:
        raise Faulted("A result of the reranker does not identify its text.")
    if not (math.isfinite(score) and 0 <= score <= 1):
        raise Faulted(f"A relevance must be between 0 and 1, but one is {score!r}.")
    return index, score
