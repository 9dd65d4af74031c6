"""Texts are split at headings, pages, definitions and sentences."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge.chunking import Chunk, Shape, split_chunks
from knowledge.parsing.formats import extract_title


def split(text: str, shape: Shape = Shape.MARKDOWN, tokens: int = 100, **more: str) -> list[Chunk]:
    return split_chunks(text, shape, tokens=tokens, **more)


@given(st.text(alphabet="ab# \n\f=-`。汉字!", max_size=400), st.sampled_from(list(Shape)))
def test_chunks_are_slices_and_cover_the_text(text: str, shape: Shape) -> None:
    chunks = split(text, shape, tokens=20, language="python")
    assert all(text[each.start : each.end] == each.text for each in chunks)
    characters = "".join("".join(each.text for each in chunks).split())
    assert characters == "".join(text.split())
    starts = [each.start for each in chunks]
    assert starts == sorted(starts)
    for each in chunks:
        lines = text.split("\n")[each.line_start - 1 : each.line_end]
        assert each.text in "\n".join(lines)


def test_chunk_lists_the_headings_above_it() -> None:
    text = "# A\n\n" + "one. " * 100 + "\n\n## B\n\n" + "two. " * 100 + "\n\n# C\n\nthree."
    paths = [each.headings for each in split(text)]
    assert paths[0] == ("A",)
    assert ("A", "B") in paths
    assert paths[-1] == ("C",)


def test_small_sections_are_merged() -> None:
    text = "# Kinds\n\n" + "\n\n".join(f"## K{i}\n\nShort." for i in range(3))
    [chunk] = split(text)
    assert chunk.headings == ("Kinds",)


def test_merged_sections_have_their_common_heading_path() -> None:
    text = "# Kinds\n\n" + "Long. " * 300
    text += "\n\n## Green\n\nShort.\n\n## Black\n\nShort.\n\n# Water\n\nSoft."
    *_, kinds, water = split(text)
    assert kinds.headings == ("Kinds",)
    assert ("Green" in kinds.text, "Black" in kinds.text) == (True, True)
    assert water.headings == ("Water",)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("Title\n=====\n\nx\n\nSub\n---\n\n" + "y " * 300, ("Title", "Sub")),
        ("# Real\n\n```\n# not a heading\n```\n\n" + "y " * 300, ("Real",)),
        ("~~~\n# no\n~~~\n# Yes #\n\n" + "y " * 300, ("Yes",)),
        ("- item\n---\n\n" + "y " * 300, ()),
        ("Title\r\n=====\r\n\r\nSub\r\n---\r\n\r\n" + "y " * 300, ("Title", "Sub")),
        ("```make up``` starts it.\n\n# Real\n\n" + "y " * 300, ("Real",)),
        ("```\n```python\n# no\n```\n# Real\n\n" + "y " * 300, ("Real",)),
        ("---\nlayout: a\nposition: 2\n---\n\n" + "y " * 300, ()),
        ("---\r\nposition: 2\r\n---\r\n# Real\r\n\r\n" + "y " * 300, ("Real",)),
        ("---\n\n# Real\n\n---\n\n" + "y " * 300, ("Real",)),
    ],
)
def test_markdown_headings(text: str, path: tuple[str, ...]) -> None:
    assert split(text)[-1].headings == path


def test_restructuredtext_heading_levels_follow_first_use() -> None:
    body = "a " * 300
    text = f"====\nBook\n====\n\nPart\n====\n\n{body}\n\nChapter\n-------\n\n{body}"
    assert split(text, Shape.PLAIN)[-1].headings == ("Book", "Part", "Chapter")
    inset = text.replace("\nBook\n", "\n Book\n").replace(
        "====\n Book\n====", "======\n Book\n======"
    )
    assert split(inset, Shape.PLAIN)[-1].headings == ("Book", "Part", "Chapter")
    assert extract_title("a.rst", ".. _label:\n\n" + inset, Shape.PLAIN) == "Book"
    assert split(f" Indented\n=========\n\n{body}", Shape.PLAIN)[-1].headings == ()


def test_underlined_titles_of_files_from_windows_are_headings() -> None:
    text = f"Book\r\n====\r\n\r\nPart\r\n----\r\n\r\n{'a ' * 300}"
    assert split(text, Shape.PLAIN)[-1].headings == ("Book", "Part")
    assert extract_title("a.rst", text, Shape.PLAIN) == "Book"


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ('---\nposition: 2\ntitle: "绿茶: 冲泡"\n---\n\n## 水\n', "绿茶: 冲泡"),
        ("---\r\ntitle: Tea \r\n---\r\n\r\n## Water", "Tea"),
        ("---\nposition: 2\n---\n\n# Tea", "Tea"),
        ("---\ntitle: >-\n  Tea\n---\n\n# Green tea", "Green tea"),
        ("---\nposition: 2\n---\nText.\n\ntitle: none\n", "a.md"),
    ],
)
def test_title_in_front_matter(text: str, title: str) -> None:
    assert extract_title("a.md", text, Shape.MARKDOWN) == title


def test_pages_are_not_merged() -> None:
    chunks = split("One.\n\fTwo.\f\fFour. " + "More. " * 300, Shape.PAGES)
    assert [each.page for each in chunks][:3] == [1, 2, 4]
    assert {each.page for each in chunks} == {1, 2, 4}


def test_code_is_split_between_definitions() -> None:
    bodies = [
        f"def f{i}(x):\n    '''Number {i}.'''\n" + "    x = x + 1\n" * 12 + "    return x\n\n\n"
        for i in range(6)
    ]
    chunks = split("".join(bodies), Shape.CODE, language="python", tokens=120)
    assert len(chunks) > 3
    assert all(each.text.startswith("def f") for each in chunks)


def test_chinese_is_split_after_sentences() -> None:
    text = "今天天气很好，我们去公园喝茶。" * 60
    chunks = split(text, Shape.PLAIN, tokens=60)
    assert len(chunks) > 5
    assert all(each.text.endswith("。") for each in chunks)


def test_chunk_sizes_are_near_the_target() -> None:
    english = "The harvest was early this year, and the leaves were small. " * 200
    chinese = "今年收成早，叶子小。" * 400
    for text in (english, chinese):
        sizes = [len(each.text) for each in split(text, Shape.PLAIN, tokens=200)]
        assert max(sizes) < 1.3 * (sum(sizes) / len(sizes))


@pytest.mark.parametrize("text", ["", " \n\n\t", "\f\f"])
def test_blank_text_has_no_chunks(text: str) -> None:
    assert split(text, Shape.PLAIN) == []
