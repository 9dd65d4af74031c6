"""Reranking through Jina's and Cohere's `/rerank` endpoint."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from django.conf import settings

from kmapp.providers.breaker import get_breaker
from kmapp.providers.client import build_post, post_json
from kmapp.providers.errors import Faulted
from kmapp.providers.metrics import record_call

PATH = "/rerank"


def is_configured() -> bool:
    """Return whether there is a reranker. Without one, results remain in their order."""
    return bool(settings.RERANK_BASE_URL)


def score_relevance(query: str, texts: Sequence[str]) -> list[float]:
    """Return the relevance of each text: one call under a deadline, with a circuit breaker."""
    body = {
        "model": settings.RERANK_MODEL,
        "query": query,
        "documents": list(texts),
        "top_n": len(texts),
    }
    base_url, api_key = settings.RERANK_BASE_URL, settings.RERANK_API_KEY
    # A separate circuit, because embeddings at the same address may work.
    circuit = get_breaker(base_url + PATH).guard()
    with record_call("rerank", "query") as call, circuit:
        answer = post_json(base_url, api_key, build_post(PATH, body), settings.RERANK_DEADLINE)
        scores = parse_response(answer, count=len(texts))
        call.outcome = "ok"
        return scores


def parse_response(answer: object, *, count: int) -> list[float]:
    """Return the relevance of each text in order, from 0 to 1; raise Faulted otherwise."""
    results = answer.get("results") if isinstance(answer, Mapping) else None
    if not isinstance(results, list):
        raise Faulted("The reranker's response has no list of results.")
    scores = dict(map(_parse_result, results))
    if len(results) != count or scores.keys() != set(range(count)):
        raise Faulted(f"The reranker received {count} texts and returned results for others.")
    return [scores[number] for number in range(count)]


def _parse_result(result: Any) -> tuple[int, float]:
    try:
        index, score = result["index"], float(result["relevance_score"])
    except (TypeError, ValueError, OverflowError, LookupError) as error:
        raise Faulted("A result of the reranker is not understood.") from error
    if type(index) is not int:
        raise Faulted("A result of the reranker does not identify its text.")
    if not (math.isfinite(score) and 0 <= score <= 1):
        raise Faulted(f"A relevance must be between 0 and 1, but one is {score!r}.")
    return index, score
