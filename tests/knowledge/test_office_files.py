"""The whole text of office files is read, whatever their programs have put around it."""

import io
import re
import zipfile
from collections.abc import Callable

import docx
import openpyxl
import pptx
import pytest

from knowledge.parsing import sandboxed_parser
from knowledge.parsing.sandboxed_parser import LimitExceeded, parse_docx, parse_pptx, parse_xlsx
from tests.knowledge.bombs import zip_archive


def save(write: Callable[[io.BytesIO], None]) -> bytes:
    out = io.BytesIO()
    write(out)
    return out.getvalue()


def edit(data: bytes, name: str, pattern: bytes, replacement: bytes) -> bytes:
    """Return an office file with a part in which a pattern, which must occur, is replaced."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = {each: archive.read(each) for each in archive.namelist()}
    parts[name], number = re.subn(pattern, replacement, parts[name])
    assert number
    return zip_archive(parts)


def read_word(body: bytes) -> str:
    """Return the text of a Word file with this XML in its body."""
    empty = save(docx.Document().save)
    data = edit(empty, "word/document.xml", rb"(<w:body>)", rb"\1" + body)
    [(_head, text)] = parse_docx(io.BytesIO(data))
    return text.decode()


RUN = b"<w:r><w:t>%b</w:t></w:r>"
OOLONG = RUN % b"Oolong"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (
            b"<w:p>%b<w:ins w:id='1'>%b</w:ins></w:p>" % (OOLONG, RUN % b" is green"),
            "Oolong is green",
        ),
        (
            b"<w:p>%b<w:del w:id='1'><w:r><w:delText>a</w:delText></w:r></w:del></w:p>" % OOLONG,
            "Oolong",
        ),
        (
            b"<w:p><w:moveFrom w:id='1'>%b</w:moveFrom></w:p>" % OOLONG
            + b"<w:p><w:moveTo w:id='2'>%b</w:moveTo></w:p>" % OOLONG,
            "Oolong",
        ),
        (b"<w:p><w:fldSimple w:instr='TITLE'>%b</w:fldSimple></w:p>" % OOLONG, "Oolong"),
        (b"<w:p><w:sdt><w:sdtPr/><w:sdtContent>%b</w:sdtContent></w:sdt></w:p>" % OOLONG, "Oolong"),
    ],
    ids=["insertion", "deletion", "move", "field", "control"],
)
def test_text_inside_other_elements_of_a_paragraph(body: bytes, text: str) -> None:
    assert read_word(body) == text


@pytest.mark.parametrize(
    ("gallery", "text"), [(b"Cover Pages", "Oolong"), (b"Table of Contents", "")]
)
def test_paragraphs_in_building_blocks(gallery: bytes, text: str) -> None:
    properties = b"<w:docPartObj><w:docPartGallery w:val='%b'/></w:docPartObj>" % gallery
    block = b"<w:sdt><w:sdtPr>%b</w:sdtPr><w:sdtContent><w:p>%b</w:p></w:sdtContent></w:sdt>"
    assert read_word(block % (properties, OOLONG)) == text


def test_text_in_groups_of_shapes() -> None:
    show = pptx.Presentation()
    slide = show.slides.add_slide(show.slide_layouts[6])
    group = slide.shapes.add_group_shape()
    for parent, name in (
        (slide, "Alone"),
        (group, "Inside"),
        (group.shapes.add_group_shape(), "Deep"),
    ):
        parent.shapes.add_textbox(0, 0, 9, 9).text_frame.text = name
    [(_head, text)] = parse_pptx(io.BytesIO(save(show.save)))
    assert sorted(text.decode().split()) == ["Alone", "Deep", "Inside"]


@pytest.mark.parametrize("size", [b"A1", b"A1:XFD1048576"])
def test_cells_are_read_whatever_size_the_sheet_states(size: bytes) -> None:
    book = openpyxl.Workbook()
    for number in range(200):
        book.active.append([f"tea {number}", number])
    data = edit(
        save(book.save),
        "xl/worksheets/sheet1.xml",
        rb'dimension ref="[^"]*"',
        b'dimension ref="%b"' % size,
    )
    [(_head, text)] = parse_xlsx(io.BytesIO(data))
    assert text.decode().splitlines()[2:] == [f"tea {number} | {number}" for number in range(200)]


def test_missing_rows_count_as_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandboxed_parser, "MAX_CELLS", 1_000)
    book = openpyxl.Workbook()
    book.active["A2000"] = "tea"
    with pytest.raises(LimitExceeded):
        list(parse_xlsx(io.BytesIO(save(book.save))))
