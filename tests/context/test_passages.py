"""Passages of long tool results: splitting, scores and selection within a budget."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context.archives import passage_selection, passage_splitting
from kmapp.text import token_counter
from tests.context.test_texts import rich


@given(st.one_of(rich, rich.map(lambda text: text * 40)))
@settings(max_examples=60)
def test_passages_cover_the_text(text: str) -> None:
    parts = passage_splitting.split_passages(text)
    assert "".join(each.text for each in parts) == text
    assert all(text[each.start : each.end] == each.text for each in parts)
    assert all(0 < len(each.text) <= passage_splitting.MAX_CHARACTERS for each in parts)


def test_best_passage_is_first() -> None:
    filler = "茶室的花园里种着很多植物，每天都要浇水。" * 50
    text = f"{filler}\n窑炉的最高温度是一千二百八十度。\n{filler}"
    parts = passage_splitting.split_passages(text)
    scores = passage_selection.score_by_words(parts, "窑炉最高温度是多少")
    assert "一千二百八十度" in parts[max(scores, key=lambda at: scores[at])].text


@pytest.mark.parametrize("budget", [60, 120, 300, 1_000])
def test_selected_passages_fit_and_contain_the_answer(budget: int) -> None:
    filler = "茶室的花园里种着很多植物，每天都要浇水。" * 50
    answer = "窑炉的最高温度是一千二百八十度。"
    text = f"{filler}\n{filler}{answer}{filler}\n{filler}"
    parts = passage_splitting.split_passages(text)
    query = "窑炉最高温度是多少"
    scores = passage_selection.score_by_words(parts, query)
    selected = passage_selection.select_passages(
        parts, scores, query, max_tokens=budget, count=token_counter.count_tokens
    )
    assert any(answer in each.passage.text for each in selected)
    assert sum(each.tokens for each in selected) <= budget
    for each in selected:
        assert text[each.passage.start : each.passage.end] == each.passage.text
    starts = [each.passage.start for each in selected]
    assert starts == sorted(starts)


def test_large_budget_keeps_whole_passages() -> None:
    parts = passage_splitting.split_passages("The kiln is hot. " * 200)
    scores = dict.fromkeys(range(len(parts)), 1.0)
    selected = passage_selection.select_passages(
        parts, scores, "kiln", max_tokens=10_000, count=token_counter.count_tokens
    )
    assert [each.passage for each in selected] == parts


def test_sentences_of_a_long_text_are_selected_with_few_counts() -> None:
    counted: list[str] = []

    def count(text: str) -> int:
        counted.append(text)
        return len(text)

    text = f"{'A cup. ' * 5_000}The kiln is hot. {'A pot. ' * 2_000}"
    whole = passage_splitting.TextPassage(0, len(text), text)
    best = passage_selection.find_best_sentences(whole, {"kiln": 1.0}, 20_000, count)
    assert text[best.start : best.end] == best.text
    assert "A cup. The kiln is hot. A pot." in best.text
    assert best.end == len(text)
    assert 19_990 < len(best.text) <= 20_000
    assert len(counted) < 40
