"""Passages: the texts that an embedding model receives."""

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kmapp.search.passage_templates import (
    MAX_PART_TOKENS,
    MAX_PREDECESSOR_TOKENS,
    Passage,
    Template,
    build_indexed_text,
    estimate_tokens,
    render_parts,
    render_with_predecessor,
    split_text,
)

MAY = datetime(2023, 5, 8, 9, 30, tzinfo=UTC)
DATED = Template('[{date}] {speaker}: "{text}"')


@pytest.mark.parametrize(
    ("passage", "expected"),
    [
        (Passage(text="hi", date=MAY, speaker="Ann"), '[Monday, May 8, 2023] Ann: "hi"'),
        (Passage(text="hi", speaker="Ann"), 'Ann: "hi"'),
        (Passage(text="hi", date=MAY), '[Monday, May 8, 2023] "hi"'),
        (Passage(text="hi"), '"hi"'),
        (Passage(text="Ann: hi", speaker="Ann"), '"Ann: hi"'),
        (Passage(text="我喜欢喝茶", date=MAY), '[2023年5月8日] "我喜欢喝茶"'),
        (Passage(text="{date} {x}", date=MAY), '[Monday, May 8, 2023] "{date} {x}"'),
    ],
)
def test_literal_disappears_with_its_empty_field(passage: Passage, expected: str) -> None:
    assert DATED.render(passage) == expected


def test_all_fields_are_rendered() -> None:
    template = Template("{kind} {title}: {text}")
    assert template.render(Passage(text="t", title="Tea", kind="fact")) == "fact Tea: t"


@pytest.mark.parametrize("source", ["", "[{date}]", "{text} {author}", "{text} {}", "text"])
def test_a_template_without_text_or_with_unknown_fields_is_refused(source: str) -> None:
    with pytest.raises(ValueError, match="use"):
        Template(source)


def test_words_include_date_title_and_speaker() -> None:
    passage = Passage(text="We drank tea.", date=MAY, title="Trip", speaker="Ann", kind="event")
    assert build_indexed_text(passage) == "Monday, May 8, 2023 Trip Ann We drank tea."
    assert build_indexed_text(Passage(text="Ann: hi", speaker="Ann")) == "Ann: hi"


def test_short_text_is_one_part_untouched() -> None:
    assert split_text("  short \n") == ["  short \n"]


@pytest.mark.parametrize(
    "text",
    [
        "The committee met in spring and agreed on very little. " * 200,
        "委员会在春天开会，几乎没有达成一致。" * 200,
        "Zm9vYmFy" * 900,
        "会议 agreed on 北京, " * 300,
    ],
)
def test_long_text_is_split_evenly_without_loss(text: str) -> None:
    cut = split_text(text)
    assert len(cut) > 1
    assert max(map(estimate_tokens, cut)) <= MAX_PART_TOKENS
    assert min(map(estimate_tokens, cut)) >= MAX_PART_TOKENS / 4
    assert "".join("".join(cut).split()) == "".join(text.split())


def test_sentences_are_not_split() -> None:
    for part in split_text("The committee met in spring and agreed on very little. " * 200):
        assert part.startswith("The")
        assert part.endswith("little.")


def test_every_part_carries_the_date() -> None:
    passage = Passage(text="The committee met in spring. " * 200, date=MAY)
    texts = render_parts(DATED, passage)
    assert len(texts) == len(split_text(passage.text))
    assert all(text.startswith("[Monday, May 8, 2023] ") for text in texts)


def test_context_comes_before_the_passage() -> None:
    text = render_with_predecessor(DATED, Passage(text="Yes, in May.", date=MAY), "Did you move?")
    assert text == '[Monday, May 8, 2023] "Did you move?\nYes, in May."'


def test_context_of_long_texts_keeps_both_and_fits() -> None:
    before = "Nothing much. " * 500 + "Did you move?"
    text = render_with_predecessor(
        DATED, Passage(text="Yes, in May. " + "And so on. " * 500), before
    )
    assert "Did you move?\nYes, in May." in text
    assert MAX_PREDECESSOR_TOKENS < estimate_tokens(text) <= MAX_PART_TOKENS + 20


@settings(deadline=None)  # the first call loads dictionaries
@given(st.text(max_size=2000))
def test_any_text_is_split_without_loss(text: str) -> None:
    cut = split_text(text, limit=50)
    assert cut
    assert "".join("".join(cut).split()) == "".join(text.split())
