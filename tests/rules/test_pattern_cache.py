"""The cache of the compiled patterns of conditions."""

from collections.abc import Iterator

import pytest

from rules.evaluation import conditions
from rules.evaluation.conditions import (
    MIN_CACHED_SIZE,
    compile_condition,
    compile_safe_pattern,
    pattern_cache,
)

MAX_PATTERNS = 3


@pytest.fixture(autouse=True)
def small_cache(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(pattern_cache, "max_size", MAX_PATTERNS * MIN_CACHED_SIZE)
    pattern_cache.clear()
    yield
    pattern_cache.clear()


def test_compiled_patterns_are_bounded() -> None:
    patterns = [f"kiln {number}$" for number in range(10)]
    condition = compile_condition({"$or": [{"text": {"$regex": each}} for each in patterns]})
    assert not any(map(pattern_cache.get, patterns))
    assert not condition.matches({"text": "glaze"})
    assert [each for each in patterns if pattern_cache.get(each)] == patterns[-MAX_PATTERNS:]
    for each in patterns:
        assert condition.matches({"text": each.removesuffix("$")}), each


def test_large_pattern_takes_the_place_of_several() -> None:
    large = "(?:celadon 12){300}"
    assert pattern_cache.size_of((compile_safe_pattern(large),)) > MIN_CACHED_SIZE
    for each in ("kiln", "glaze", large):
        assert not compile_condition({"text": {"$regex": each}}).matches({"text": "-"}), each
    assert pattern_cache.get("kiln") is None


def test_pattern_is_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[str] = []

    def compile_pattern(text: str) -> object:
        compiled.append(text)
        return compile_safe_pattern(text)

    monkeypatch.setattr(conditions, "compile_safe_pattern", compile_pattern)
    texts = {"kiln": True, "(?=kiln)": False}  # the second one is unsupported
    for each, holds in texts.items():
        condition = compile_condition({"text": {"$regex": each}})
        assert [condition.matches({"text": "The kiln."}) for _ in range(2)] == [holds, holds]
    assert compiled == list(texts)
