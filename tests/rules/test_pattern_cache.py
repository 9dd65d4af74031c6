"""The cache of the compiled patterns of conditions."""

from collections.abc import Iterator

import pytest

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from rules.evaluation import patterns as rule_patterns
from rules.evaluation.conditions import compile_condition
from rules.evaluation.patterns import (
    MAX_CACHED_SIZE,
    MIN_CACHED_SIZE,
    compile_safe_pattern,
    pattern_cache,
    reserve_space,
)
from rules.evaluation.rule_cache import load_rules
from tests.rules.builders import add_rule

MAX_PATTERNS = 3


@pytest.fixture(autouse=True)
def small_cache(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(rule_patterns, "CACHED_SIZE", MAX_PATTERNS * MIN_CACHED_SIZE)
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

    monkeypatch.setattr(rule_patterns, "compile_safe_pattern", compile_pattern)
    texts = {"kiln": True, "(?=kiln)": False}  # the second one is unsupported
    for each, holds in texts.items():
        condition = compile_condition({"text": {"$regex": each}})
        assert [condition.matches({"text": "The kiln."}) for _ in range(2)] == [holds, holds]
    assert compiled == list(texts)


def test_patterns_of_active_rules_fit_into_the_cache(acme: Account) -> None:
    patterns = [f"kiln {number}$" for number in range(10)]
    when = {"$or": [{"text": {"$regex": each}} for each in patterns]}
    unless = [{"$not": {"text": {"$regex": "^glaze"}}}, {"text": {"$regex": patterns[0]}}]
    add_rule(acme, "In shadow", "shadow", when=when, exceptions=unless)
    with acting(acme):
        load_rules(acme.pk)
    assert pattern_cache.max_size == MAX_PATTERNS * MIN_CACHED_SIZE, "any agent can write it"
    add_rule(acme, "Active", "active", when=when, exceptions=unless)
    with acting(acme):
        *_, loaded = load_rules(acme.pk).rules
    assert pattern_cache.max_size == (MAX_PATTERNS + 11) * MIN_CACHED_SIZE
    assert not loaded.condition.matches({"text": "glaze"})
    assert all(map(pattern_cache.get, patterns))


def test_space_for_patterns_of_active_rules_is_bounded() -> None:
    reserve_space(10**9)
    assert pattern_cache.max_size == MAX_CACHED_SIZE
    reserve_space(1)
    assert pattern_cache.max_size == MAX_CACHED_SIZE, "other accounts need it"
