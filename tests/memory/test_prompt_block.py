"""Memories as prompt text within a token budget."""

from datetime import UTC, datetime

from hypothesis import example, given
from hypothesis import strategies as st

from memory.retrieval.prompt_excerpts import Excerpts
from memory.retrieval.text_budget import BlockEntry, build_block


def words(text: str) -> int:
    return len(text.split())


def entry(text: str, day: int = 1, **more: object) -> BlockEntry:
    return BlockEntry(text=text, date=datetime(2026, 3, day, tzinfo=UTC), **more)  # type: ignore[arg-type]


def test_memories_are_a_timeline_with_ranks() -> None:
    memories = [
        entry("Ann: I moved to Vellmark.", 9, position=2),
        entry("Bob drinks tea.", 2),
        entry("Ann: Guess what!", 9, position=1),
        BlockEntry(text="No date."),
    ]
    assert build_block(memories, max_tokens=None, count=words).text == (
        "## Relevant Memory (2026)\n"
        "\nMarch 2\n[2] Bob drinks tea.\n"
        "\nMarch 9\n[3] Ann: Guess what!\n[1] Ann: I moved to Vellmark.\n"
        "[4] No date.\n"
    )


def test_dates_have_the_year_if_there_are_several() -> None:
    older = BlockEntry(text="小红搬到了青埠。", date=datetime(2025, 12, 31, tzinfo=UTC))
    text = build_block([entry("Tea."), older], max_tokens=None, count=words).text
    assert "## Relevant Memory\n\n2025年12月31日\n[2] 小红搬到了青埠。\n" in text
    assert "\nMarch 1, 2026\n[1] Tea.\n" in text


def test_memories_that_do_not_fit_are_left_out() -> None:
    memories = [entry("a" * 40), entry("b" * 400), entry("c" * 40)]
    new = build_block(memories, max_tokens=160, count=len)
    assert new.places == [0, 2]
    assert new.text.endswith(f"[1] {'a' * 40}\n[2] {'c' * 40}\n")
    assert new.tokens == len(new.text) <= 160
    assert build_block([], max_tokens=None, count=len).text == ""


CHAT = [
    "Ann: Thanks, Bob! That is so kind. I moved to Vellmark yesterday. What about you?",
    "Bob: Wow, that is great! Thanks, Ann! Did you find a flat? Mine has a roof garden.",
    "Ann: Thanks! That is so kind, Bob!",
]


def test_small_talk_is_left_out_before_content() -> None:
    excerpts = Excerpts("Where does Ann live?", CHAT)
    assert excerpts.remove_small_talk(CHAT[0]) == "Ann: I moved to Vellmark yesterday."
    assert "Mine has a roof garden." in excerpts.remove_small_talk(CHAT[1])
    assert excerpts.remove_small_talk(CHAT[2]) == CHAT[2]  # something always remains


def test_excerpt_marks_what_is_left_out() -> None:
    text = "Mira grows oolong. The weather station was painted blue. Ferries stop at Ostrey."
    excerpts = Excerpts("Does Mira grow oolong near Ostrey?", [text])
    assert excerpts.shorten(text, 9, words) == "Mira grows oolong. … Ferries stop at Ostrey."
    assert excerpts.shorten(text, 50, words) == text


def test_everything_is_whole_if_it_fits() -> None:
    memories = [entry(text) for text in CHAT]
    whole = build_block(memories, max_tokens=None, count=words)
    assert build_block(memories, max_tokens=whole.tokens, count=words) == whole
    assert all(text in whole.text for text in CHAT)


def test_memory_that_a_better_one_contains_gives_way() -> None:
    memories = [
        entry("Bob moved to Ostrey in May with two cats."),
        entry("Bob moved to Ostrey in May."),
        entry("Bob moved to Ostrey in June."),
        entry("Ferries stop at Sable Point."),
    ]
    assert build_block(memories, max_tokens=30, count=words).places == [0, 2, 3]


@given(
    st.lists(st.text(min_size=1, max_size=80), max_size=8),
    st.integers(0, 120),
    st.text(max_size=20),
)
@example(texts=["0", "0", "0", "𠀀", "0", "0", "0"], most=101, query="")  # two languages in a day
def test_block_never_exceeds_its_budget(texts: list[str], most: int, query: str) -> None:
    new = build_block(
        [entry(text, 1 + n % 3) for n, text in enumerate(texts)],
        query=query,
        max_tokens=most,
        count=len,
    )
    assert new.tokens == len(new.text)
    assert new.tokens <= most or not new.places
