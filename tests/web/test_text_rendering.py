"""Rendering of user texts, diffs, times and ids."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kmapp.web import diff, timestamps
from kmapp.web.templatetags.web import copyable, meter, render_diff, shortened, user_text
from tests.timing import assert_linear

NOW = datetime(2030, 5, 1, 12, tzinfo=UTC)


def test_markup_is_escaped() -> None:
    hostile = '</bdi><div hx-get="/erase/" hx-trigger="load">'
    assert "<div" not in user_text(hostile)
    assert "<div" not in render_diff(hostile, "").removeprefix('<div class="diff" hx-disable>')
    assert user_text("x").startswith("<bdi hx-disable>")


@pytest.mark.parametrize(
    ("text", "page"),
    [
        ("pay\u202etxt.exe", "U+202E"),
        ("a\u200bb", "U+200B"),
        ("a\u200db", "U+200D"),
        ("\U000e0041", "U+E0041"),
        ("a\x1bb", "U+001B"),
    ],
)
def test_invisible_characters_are_named(text: str, page: str) -> None:
    assert f">{page}</span>" in user_text(text)
    assert not set(text) & set(user_text(text)) - set("paytx.eb")


@pytest.mark.parametrize("text", ["👩‍🚀", "❤️", "naïve", "你好，世界", "two\nlines\tand a tab"])
def test_ordinary_text_is_unchanged(text: str) -> None:
    assert user_text(text) == f"<bdi hx-disable>{text}</bdi>"


@given(st.text(), st.text())
def test_diff_contains_both_texts(old: str, new: str) -> None:
    diff_pieces = diff.diff_pieces(old, new)
    assert "".join(text for kind, text in diff_pieces if kind != "added") == old
    assert "".join(text for kind, text in diff_pieces if kind != "removed") == new


def test_diff_by_words_and_characters() -> None:
    assert diff.diff_pieces("call him in the morning.", "call him never.") == [
        ("same", "call him "),
        ("removed", "in the morning"),
        ("added", "never"),
        ("same", "."),
    ]
    assert diff.diff_pieces("喜欢电话联系", "喜欢邮件联系") == [
        ("same", "喜欢"),
        ("removed", "电话"),
        ("added", "邮件"),
        ("same", "联系"),
    ]


def test_long_text_is_compared_by_lines() -> None:
    old = "word " * 4000 + "\nlast"
    assert diff.diff_pieces(old, old + " line") == [
        ("same", "word " * 4000 + "\n"),
        ("removed", "last"),
        ("added", "last line"),
    ]


@pytest.mark.parametrize("piece", ["a ", "ab ", "a\n", "\n", "x\n\n", "、"])
def test_diff_of_repeated_text_is_linear(piece: str) -> None:
    def compare(size: int) -> None:
        times = size // len(piece)
        diff.diff_pieces("first " + piece * times, piece * (times - 1) + " last")

    for size in (500, 2_500, 25_000):  # by words, and by lines
        assert_linear(compare, size)


@pytest.mark.parametrize(
    ("away", "text"),
    [
        (timedelta(seconds=20), "just now"),
        (timedelta(minutes=3, seconds=50), "3 min ago"),
        (timedelta(hours=23), "23 h ago"),
        (timedelta(days=1), "1 day ago"),
        (timedelta(days=29), "29 days ago"),
        (timedelta(days=40), "March 22, 2030"),
        (timedelta(minutes=-20), "in 20 min"),
        (timedelta(days=-3), "in 3 days"),
    ],
)
def test_relative_time_is_short(away: timedelta, text: str) -> None:
    assert timestamps.format_relative(NOW - away, now=NOW) == text


def test_ids_and_hashes_are_shortened() -> None:
    assert shortened("0193a1b2-7c11-7def-8a00-5b6c7d8e9f01") == "…7d8e9f01"
    assert shortened("9f3c2ab4d2e1f00a") == "9f3c2ab4"
    assert copyable("9f3c2ab4d2e1f00a") == {"whole": "9f3c2ab4d2e1f00a", "short": "9f3c2ab4"}


@pytest.mark.parametrize(("value", "percent"), [(0.25, 25), (7, 100), (-1, 0)])
def test_meter_stays_in_its_range(value: float, percent: float) -> None:
    assert meter(value, 1, "share")["percent"] == percent
