"""The program inside the sandbox: one file on stdin, frames on stdout.

A frame is a line of JSON with the length of the bytes that follow it: a text, its chunks, or a file
of an archive. The last frame reports success. This process has no address of the database.
"""

import json
import resource
import stat
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, BinaryIO

from knowledge.chunking import Chunk, Shape, split_chunks
from knowledge.parsing.formats import NotText, decode_text

# Limits of one file. If one is exceeded, nothing of the file is stored.
MAX_PAGES = 5_000
MAX_CHARACTERS = 20_000_000
MAX_FILES = 10_000
MAX_UNPACKED_BYTES = 300 * 1024 * 1024
MAX_RATIO = 200  # of the unpacked to the packed size of an archive
MIN_UNPACKED_BYTES = (
    10 * 1024 * 1024
)  # bytes that any archive may unpack to, so that the ratio spares small ones
MAX_CELLS = 2_000_000
UTF8_FLAG = 0x800  # of a file in an archive: its name is in UTF-8
# Elements around content that python-docx does not look into: tracked insertions, controls, fields.
# A table of contents repeats the headings.
_WRAPPERS = (
    ".//w:sdt[not(w:sdtPr/w:docPartObj/w:docPartGallery/@w:val='Table of Contents')]"
    " | .//w:sdtContent | .//w:ins | .//w:moveTo | .//w:fldSimple | .//w:smartTag | .//w:customXml"
)

Frame = tuple[dict[str, Any], bytes]


class LimitExceeded(Exception):
    """A limit was exceeded. The message is shown to users."""


def parse_pdf(file: BinaryIO) -> Iterator[Frame]:
    import pypdfium2  # noqa: PLC0415

    document = pypdfium2.PdfDocument(file)
    if len(document) > MAX_PAGES:
        raise LimitExceeded(
            f"The file has {len(document):,} pages. The limit is {MAX_PAGES:,} pages."
        )
    pages, size = [], 0
    for page in document:
        text = page.get_textpage().get_text_bounded().replace("\f", " ")
        page.close()
        size = _add_length(size, text)
        pages.append(text)
    if not any(page.strip() for page in pages):
        raise LimitExceeded("The file contains only images and no text.")
    yield _build_text_frame("\f".join(pages))


def parse_docx(file: BinaryIO) -> Iterator[Frame]:
    import docx  # noqa: PLC0415
    from docx.table import Table  # noqa: PLC0415

    document = docx.Document(file)
    _unwrap_content(document.element.body)
    blocks: list[str] = []
    size = 0
    for item in document.iter_inner_content():
        block = _render_table(item) if isinstance(item, Table) else _render_paragraph(item)
        size = _add_length(size, block)
        blocks.append(block)
    yield _build_text_frame("\n\n".join(block for block in blocks if block.strip()))


def _unwrap_content(body: Any) -> None:
    for element in body.xpath(_WRAPPERS):
        parent = element.getparent()
        place = parent.index(element)
        parent[place : place + 1] = list(element)


def _render_paragraph(item: Any) -> str:
    name = str(item.style.name or "") if item.style else ""
    if name.startswith("Heading ") and name[8:].isdigit():
        return "#" * min(int(name[8:]), 6) + " " + str(item.text).strip()
    if name == "Title":
        return "# " + str(item.text).strip()
    return ("- " if name.startswith("List") else "") + str(item.text)


def _render_table(item: Any) -> str:
    return "\n".join(" | ".join(cell.text.strip() for cell in row.cells) for row in item.rows)


def parse_pptx(file: BinaryIO) -> Iterator[Frame]:
    import pptx  # noqa: PLC0415

    slides, size = [], 0
    for slide in pptx.Presentation(file).slides:
        shapes = list(_list_shapes(slide.shapes))
        texts = [shape.text_frame.text for shape in shapes if shape.has_text_frame]
        texts += [_render_table(shape.table) for shape in shapes if shape.has_table]
        if slide.has_notes_slide and slide.notes_slide.notes_text_frame:
            texts.append(slide.notes_slide.notes_text_frame.text)
        text = "\n\n".join(each for each in texts if each.strip()).replace("\f", " ")
        size = _add_length(size, text)
        slides.append(text.replace("\v", "\n"))
    yield _build_text_frame("\f".join(slides))


def _list_shapes(shapes: Any) -> Iterator[Any]:
    """Yield shapes, and instead of a group those inside it."""
    from pptx.shapes.group import GroupShape  # noqa: PLC0415

    for shape in shapes:
        if isinstance(shape, GroupShape):
            yield from _list_shapes(shape.shapes)
        else:
            yield shape


def parse_xlsx(file: BinaryIO) -> Iterator[Frame]:
    import openpyxl  # noqa: PLC0415

    book = openpyxl.load_workbook(file, read_only=True, data_only=True)
    lines: list[str] = []
    cells = size = 0
    for sheet in book.worksheets:
        lines += ["", f"# {sheet.title}", ""]
        # Some programs store a wrong size: cells outside would be left out, or empty ones added.
        sheet.reset_dimensions()
        for row in sheet.iter_rows(values_only=True):
            cells += max(1, len(row))  # also of missing rows, whose number a file can state
            if cells > MAX_CELLS:
                raise LimitExceeded(f"The file has more than {MAX_CELLS:,} cells.")
            line = " | ".join("" if value is None else str(value) for value in row).strip(" |")
            if line:
                size = _add_length(size, line)
                lines.append(line)
    yield _build_text_frame("\n".join(lines).strip("\n"))


def parse_text(file: BinaryIO) -> Iterator[Frame]:
    content = decode_text(file.read())
    _add_length(0, content)
    yield {}, content.encode()


def parse_html(file: BinaryIO) -> Iterator[Frame]:
    from knowledge.parsing.html import extract_text  # noqa: PLC0415

    title, text = extract_text(file.read())
    _add_length(0, text)
    yield _build_text_frame(text, title=title)


def unpack_archive(file: BinaryIO) -> Iterator[Frame]:
    import zipfile  # noqa: PLC0415

    with zipfile.ZipFile(file) as packed:
        for info in packed.infolist():
            parts = _decode_name(info.filename, info.flag_bits).replace("\\", "/").split("/")
            # Hidden and system files, and paths that are absolute or leave the archive.
            skipped = any(part.startswith((".", "__MACOSX")) or not part for part in parts)
            encrypted, is_link = info.flag_bits & 1, stat.S_ISLNK(info.external_attr >> 16)
            if not (info.is_dir() or skipped or encrypted or is_link):
                yield {"name": "/".join(parts)}, packed.read(info)


def _decode_name(name: str, flags: int) -> str:
    """Return the name of a file in an archive, which `zipfile` has decoded as code page 437.

    It does so without the flag for UTF-8, which many programs do not set. Windows writes Chinese
    names in GB 18030. Names of other code pages can have the same bytes, but few of them would be
    common Chinese characters.
    """
    if flags & UTF8_FLAG or name.isascii():
        return name
    try:
        raw = name.encode("cp437")
    except UnicodeEncodeError:  # from a field with a Unicode name
        return name
    try:
        return raw.decode()
    except UnicodeDecodeError:
        chinese = raw.decode("gb18030", "replace")
    others = [character for character in chinese if not character.isascii()]
    common = "".join(others).encode("gb2312", "ignore").decode("gb2312")
    return chinese if 2 * len(common) >= len(others) else name


def _check_unpacked_size(file: BinaryIO) -> None:
    """Refuse archives whose declared sizes exceed the limits."""
    import zipfile  # noqa: PLC0415

    packed = Path(f"/proc/self/fd/{file.fileno()}").stat().st_size
    with zipfile.ZipFile(file) as opened:
        infos = opened.infolist()
        size = sum(info.file_size for info in infos)
    if len(infos) > MAX_FILES:
        raise LimitExceeded(
            f"The archive has {len(infos):,} files. The limit is {MAX_FILES:,} files."
        )
    if size > MAX_UNPACKED_BYTES or size > packed * MAX_RATIO + MIN_UNPACKED_BYTES:
        raise LimitExceeded(
            f"The archive unpacks to {size:,} bytes, "
            f"which is too large for its size of {packed:,} bytes."
        )
    file.seek(0)


def _add_length(size: int, text: str) -> int:
    size += len(text)
    if size > MAX_CHARACTERS:
        raise LimitExceeded(f"The file has more than {MAX_CHARACTERS:,} characters of text.")
    return size


def _build_text_frame(text: str, *, title: str = "") -> Frame:
    """Return a text and a title that the database can store."""
    cleaned = _remove_unstorable(text).replace("\r\n", "\n").replace("\r", "\n")
    return {"title": _remove_unstorable(title)}, cleaned.encode()


def _remove_unstorable(text: str) -> str:
    """Return a text without NUL; a question mark replaces an unpaired surrogate."""
    return text.replace("\x00", "").encode("utf-8", "replace").decode()


PARSERS: dict[str, Callable[[BinaryIO], Iterator[Frame]]] = {
    "text": parse_text,
    "pdf": parse_pdf,
    "docx": parse_docx,
    "pptx": parse_pptx,
    "xlsx": parse_xlsx,
    "html": parse_html,
    "zip": unpack_archive,
}


def main(parser: str, memory: int, seconds: int, chunk_settings: Mapping[str, Any]) -> None:
    """Write the frames of the file on stdin. `chunk_settings` is `sandbox.ChunkSettings`."""
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    out = sys.stdout.buffer
    try:
        if parser in ("docx", "pptx", "xlsx", "zip"):
            _check_unpacked_size(sys.stdin.buffer)
        for head, data in PARSERS[parser](sys.stdin.buffer):
            _write_frame(out, {**head, "length": len(data)}, data)
            for version, tokens in chunk_settings.get("tokens", {}).items():
                shape, language = Shape(chunk_settings["shape"]), chunk_settings["language"]
                chunks = _dump_chunks(
                    split_chunks(data.decode(), shape, tokens=tokens, language=language)
                )
                _write_frame(out, {"version": version, "length": len(chunks)}, chunks)
    except (LimitExceeded, NotText) as error:
        _write_frame(out, {"refused": str(error)})
    except MemoryError:
        _write_frame(out, {"refused": "Parsing needs more memory than is allowed for one file."})
    except Exception as error:  # noqa: BLE001 - libraries fail in as many ways as files are broken
        kind = type(error).__name__
        reason = f"The file is damaged or its content does not match its type ({kind})."
        _write_frame(out, {"refused": reason})
    else:
        _write_frame(out, {"done": True})


def _dump_chunks(chunks: Sequence[Chunk]) -> bytes:
    rows = [
        [each.start, each.end, each.line_start, each.line_end, each.page, each.headings]
        for each in chunks
    ]
    return json.dumps(rows).encode()


def _write_frame(out: IO[bytes], head: dict[str, Any], data: bytes = b"") -> None:
    out.write(json.dumps(head).encode() + b"\n" + data)
    out.flush()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), json.loads(sys.argv[4]))
