"""Limits of the rendering of Markdown: its time and the size of its result."""

from itertools import count
from uuid import uuid4

import pytest

from kmapp.web import markdown
from kmapp.web.markdown import MarkedLines, render_markdown, render_plain
from tests.timing import assert_linear

ACCOUNT = uuid4()
SPARSE_TABLE = "|a" * 256 + "|\n" + "|-" * 256 + "|\n" + "|\n" * 256 + "\n"


def render(text: str) -> str:
    return render_markdown(text, account_id=ACCOUNT)


def count_checks(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """Replace the clock by one that reaches the deadline after `most` checks."""
    ticks = count()
    monkeypatch.setattr(markdown, "monotonic", lambda: next(ticks))
    monkeypatch.setattr(markdown, "_MAX_SECONDS", most)


@pytest.mark.parametrize(
    "text",
    [SPARSE_TABLE * 3, "[a](x)" * 20_000, "![" * 8_000, "a\n" * 8_000, "|a|\n|-|\n" * 8_000],
    ids=["tables", "links", "images", "lines", "table rows"],
)
def test_a_text_that_takes_too_long_is_rendered_as_plain_text(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    count_checks(monkeypatch, most=500)
    assert render(text) == render_plain(text)


def test_the_deadline_holds_for_the_rendering_of_the_parsed_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = "[a](x) " * 100
    ticks = count()
    monkeypatch.setattr(markdown, "monotonic", lambda: next(ticks))
    monkeypatch.setattr(markdown, "_MAX_SECONDS", 1_000_000)
    render(text)
    count_checks(monkeypatch, most=next(ticks) - 10)
    assert render(text) == render_plain(text)


def test_a_plain_text_has_its_passage_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    count_checks(monkeypatch, most=0)
    passage = MarkedLines(first=2, last=2)
    rendered = render_markdown("*a*\n<b>\nc", account_id=ACCOUNT, passage=passage)
    assert rendered == render_plain("*a*\n<b>\nc", passage=passage)
    assert 'id="passage"><pre class="plain-text">&lt;b&gt;</pre>' in rendered


def test_many_links_take_linear_time() -> None:
    assert_linear(lambda size: render("[a](x)" * size), 2_000)


def test_added_cells_of_a_table_are_limited() -> None:
    assert render(SPARSE_TABLE).count("<td>") < 3_000
    filled = "|a|b|\n|-|-|\n" + "|1|\n" * 500
    assert render(filled).count("<td>") == 1_000


def test_an_ordinary_text_is_rendered_as_before() -> None:
    text = "# A\n\n[*b*](https://c.example/) [d](e.md) [f](/g/)\n\n|h|i|\n|:-|-|\n|1|\n"
    rel = 'rel="noopener noreferrer nofollow"'
    assert render(text) == (
        f'<h2>A</h2>\n<p><a href="https://c.example/" {rel}><em>b</em></a> <span>d</span> '
        f'<a href="/g/" {rel}>f</a></p>\n'
        "<table>\n<thead>\n<tr>\n<th>h</th>\n<th>i</th>\n</tr>\n</thead>\n"
        "<tbody>\n<tr>\n<td>1</td>\n<td></td>\n</tr>\n</tbody>\n</table>\n"
    )
