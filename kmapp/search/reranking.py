"""Optional reranking of the first results by a model.

The reranker adds one part to each score. Without one, or if it fails, the fused scores remain.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from time import monotonic
from typing import Any, ClassVar, Protocol, TypeVar

from django.conf import settings

from kmapp.providers.errors import ProviderError
from kmapp.providers.rerank import is_configured, score_relevance
from kmapp.search.query_vector import describe_failure

MIN_CANDIDATES, MAX_CANDIDATES = 30, 100  # results that are read
RERANK_SHARE = 0.7  # of the score; the fused score has the rest
RERANK_PART = "rerank"
FAILURE_CODE = "km_rerank_failed"  # code of a decision
MAX_TEXT_CHARACTERS = 4_000  # characters of a text: a reranker reads a few hundred words


class Scored(Protocol):
    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def score(self) -> float: ...
    @property
    def parts(self) -> Mapping[str, float]: ...


T = TypeVar("T", bound=Scored)


def compute_candidate_limit(limit: int) -> int:
    """Return how many results to find, so that the best `limit` can be chosen from them."""
    return max(limit, MIN_CANDIDATES) if is_configured() else limit


def rerank_results(
    query: str,
    results: Sequence[T],
    text_of: Callable[[T], str],
    decisions: list[Mapping[str, Any]],
) -> list[T]:
    """Return the results in the order of the reranker, if there is one. Outside `acting`.

    Only the first results are reranked. The others get no part of the reranker's share.
    """
    if not (is_configured() and query and results):
        return list(results)
    started = monotonic()
    try:
        relevances = score_relevance(
            query, [text_of(each)[:MAX_TEXT_CHARACTERS] for each in results[:MAX_CANDIDATES]]
        )
    except ProviderError as error:
        message = "In the order of words and meaning: the reranker did not answer."
        deadline = settings.RERANK_DEADLINE
        decisions.append(
            describe_failure(FAILURE_CODE, message, started, deadline, reason=error.code)
        )
        return list(results)
    decisions.append(
        {
            "code": "km_reranked",
            "message": "A reranker read the first results.",
            "model": settings.RERANK_MODEL,
            "read": len(relevances),
        }
    )
    unread = [0.0] * (len(results) - len(relevances))
    scored = []
    for each, value in zip(results, [*relevances, *unread], strict=True):
        parts = {name: (1 - RERANK_SHARE) * part for name, part in each.parts.items()}
        parts[RERANK_PART] = RERANK_SHARE * value
        scored.append(replace(each, score=sum(parts.values()), parts=parts))
    return sorted(scored, key=lambda each: -each.score)
