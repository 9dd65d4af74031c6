"""In-process caches stay small whatever requests contain."""

from uuid import uuid4

import pytest

from context.assembly import tool_profiles
from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.search import scan_method_choice
from kmapp.search.allowed_objects import AllowedObjects, Collection
from kmapp.search.scan_method_choice import count_allowed
from kmapp.text import terms as text_terms
from memory.models.entries import COLLECTION
from memory.retrieval import prompt_excerpts
from memory.retrieval.prompt_excerpts import Excerpts


@pytest.mark.django_db
def test_counts_of_many_ids_have_short_keys(acme: Account) -> None:
    scan_method_choice.clear_query_caches()
    with acting(acme):
        within = AllowedObjects.from_ids(uuid4() for _ in range(1_000))
        count_allowed(Collection(account_id=acme.pk, name=COLLECTION), within)
    [key] = scan_method_choice.ALLOWED_COUNT_CACHE._entries  # noqa: SLF001
    assert len(repr(key)) < 1_000


def test_long_words_are_not_cached() -> None:
    long_word = "quartz" * 1_000
    caches = (text_terms._split_word, text_terms._stem_word)  # noqa: SLF001
    text_terms.extract_terms("mining")
    before = [each.cache_info().currsize for each in caches]
    cut = long_word[: text_terms.TERM_LENGTH]
    assert text_terms.extract_terms(f"{long_word} {long_word}-mining") == [cut, cut, cut, "mine"]
    assert [each.cache_info().currsize for each in caches] == before


def test_sentences_of_long_texts_displace_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    cache = prompt_excerpts._splits  # noqa: SLF001
    cache.clear()
    monkeypatch.setattr(cache, "max_size", 1_000)
    Excerpts("kiln", [f"{number} " + "The kiln fires at six. " * 20 for number in range(9)])
    assert 0 < cache._size <= 1_000  # noqa: SLF001
    Excerpts("kiln", [f"{name}: " for name in ("Ann", "Ben", "Cal", "Dee", "Eva", "Fay")])
    assert 0 < len(cache._values) < 6  # noqa: SLF001 - texts without a sentence, too


def test_long_tools_displace_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    cache = tool_profiles._offered  # noqa: SLF001
    cache.clear()
    monkeypatch.setattr(cache, "max_size", 100)
    tools = [{"name": f"tool_{number}", "description": "fire " * 40} for number in range(9)]
    assert len(tool_profiles.offer_tools(tools, {}, strict=False)) == 9
    assert 0 < cache._size <= 100  # noqa: SLF001
