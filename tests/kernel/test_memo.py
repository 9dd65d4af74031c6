"""Figures that may be a little old are remembered for a little while."""

import pytest

from kmapp.search import ttl_cache
from kmapp.search.ttl_cache import Memo


def test_value_is_cached_until_it_expires(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(ttl_cache, "monotonic", lambda: now)
    figures: Memo[int] = Memo()
    assert figures.get("a") is None
    assert figures.put("a", 0, seconds=5) == 0
    assert figures.get("a") == 0
    now = 105.0
    assert figures.get("a") is None


def test_cache_is_bounded() -> None:
    figures: Memo[int] = Memo(most=10)
    for number in range(95):
        figures.put(number, number, seconds=60)
    assert figures.get(94) == 94
    assert sum(figures.get(number) is not None for number in range(95)) <= 10


def test_forget_clears_the_cache() -> None:
    figures: Memo[int] = Memo()
    figures.put("a", 1, seconds=60)
    figures.forget()
    assert figures.get("a") is None
