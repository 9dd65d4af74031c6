"""Calls of a reranker, and checks of its results."""

from typing import Any

import pytest
from pytest_django import Settings

from kmapp.providers.errors import CircuitOpen, Faulted, ProviderError, ProviderTimeout
from kmapp.providers.rerank import is_configured, parse_response, score_relevance
from tests.fake_provider import FakeProvider

TEXTS = ["A cup.", "Oolong takes ninety-five degrees.", "Green tea."]


def ask() -> list[float]:
    return score_relevance("How hot is oolong?", TEXTS)


def test_reranker_is_not_configured_without_a_url(settings: Settings) -> None:
    assert not is_configured()
    settings.RERANK_BASE_URL = "http://127.0.0.1:1/v1"
    assert is_configured()


def test_relevance_is_returned_in_text_order(reranker: FakeProvider, settings: Settings) -> None:
    settings.RERANK_API_KEY = "key"
    reranker.become(reply=lambda text: 0.9 if "Oolong" in text else 0.1)
    assert ask() == [0.1, 0.9, 0.1]
    [body] = reranker.seen
    headers = body.pop("headers")
    assert {name.lower(): value for name, value in headers.items()}["authorization"] == "Bearer key"
    assert body == {
        "model": "reader",
        "query": "How hot is oolong?",
        "documents": TEXTS,
        "top_n": 3,
    }


def test_slow_response_ends_at_the_deadline(reranker: FakeProvider, settings: Settings) -> None:
    settings.RERANK_DEADLINE = 0.4
    reranker.become("drip", delay=0.1)  # each byte in time, the whole in ten seconds
    with pytest.raises(ProviderTimeout):
        ask()


def test_circuit_opens_after_repeated_failures(reranker: FakeProvider) -> None:
    reranker.become("error")
    for _ in range(5):
        with pytest.raises(ProviderError):
            ask()
    with pytest.raises(CircuitOpen):
        ask()
    assert reranker.requests == 5


@pytest.mark.parametrize(
    "results",
    [
        None,
        [],
        [{"index": 0, "relevance_score": 0.5}],
        [{"index": 0, "relevance_score": 0.5}, {"index": 0, "relevance_score": 0.5}],
        [{"index": 0, "relevance_score": 0.5}, {"index": 2, "relevance_score": 0.5}],
        [{"index": 0, "relevance_score": 0.5}, {"index": True, "relevance_score": 0.5}],
        [{"index": 0, "relevance_score": 0.5}, {"index": 1, "relevance_score": 3.2}],
        [{"index": 0, "relevance_score": 0.5}, {"index": 1, "relevance_score": 10**400}],
        [{"index": 0, "relevance_score": 0.5}, {"index": 1, "relevance_score": float("nan")}],
        [{"index": 0, "relevance_score": 0.5}, {"index": 1, "relevance_score": "much"}],
        [{"index": 0, "relevance_score": 0.5}, {"index": 1}],
        [{"index": 0, "relevance_score": 0.5}, 7],
    ],
)
def test_invalid_results_are_rejected(results: Any) -> None:
    with pytest.raises(Faulted):
        parse_response({"results": results}, count=2)
    with pytest.raises(Faulted):
        parse_response(results, count=2)
