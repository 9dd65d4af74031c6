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

from knowledge.chunking import Chunk, Shape, chunked
from knowledge.parsing.formats import NotText, decode_text

# Limits of one file. If one is exceeded, nothing of the file is stored.
MOST_PAGES = 5_000
MOST_CHARACTERS = 20_000_000
MOST_FILES = 10_000
MOST_UNPACKED = 300 * 1024 * 1024
MOST_RATIO = 200  # of the unpacked to the packed size of an archive
SLACK = (
    10 * 1024 * 1024
)  # bytes that any archive may unpack to, so that the ratio spares small ones
MOST_CELLS = 2_000_000

Frame = tuple[dict[str, Any], bytes]


class TooMuch(Exception):
    """A limit was exceeded. The message is shown to users."""


def pdf(file: BinaryIO) -> Iterator[Frame]:
    import pypdfium2  # noqa: PLC0415

    document = pypdfium2.PdfDocument(file)
    if len(document) > MOST_PAGES:
        raise TooMuch(f"The file has {len(document):,} pages. The limit is {MOST_PAGES:,} pages.")
    pages, size = [], 0
    for page in document:
        text = page.get_textpage().get_text_bounded().replace("\f", " ")
        page.close()
        size = _add_length(size, text)
        pages.append(text)
    if not any(page.strip() for page in pages):
        raise TooMuch("The file contains only images and no text.")
    yield _text("\f".join(pages))


def docx(file: BinaryIO) -> Iterator[Frame]:
    import docx  # noqa: PLC0415
    from docx.table import Table  # noqa: PLC0415

    blocks: list[str] = []
    size = 0
    for item in docx.Document(file).iter_inner_content():
        block = _table(item) if isinstance(item, Table) else _paragraph(item)
        size = _add_length(size, block)
        blocks.append(block)
    yield _text("\n\n".join(block for block in blocks if block.strip()))


def _paragraph(item: Any) -> str:
    name = str(item.style.name or "") if item.style else ""
    if name.startswith("Heading ") and name[8:].isdigit():
        return "#" * min(int(name[8:]), 6) + " " + str(item.text).strip()
    if name == "Title":
        return "# " + str(item.text).strip()
    return ("- " if name.startswith("List") else "") + str(item.text)


def _table(item: Any) -> str:
    return "\n".join(" | ".join(cell.text.strip() for cell in row.cells) for row in item.rows)


def pptx(file: BinaryIO) -> Iterator[Frame]:
    import pptx  # noqa: PLC0415

    slides, size = [], 0
    for slide in pptx.Presentation(file).slides:
        texts = [shape.text_frame.text for shape in slide.shapes if shape.has_text_frame]
        texts += [_table(shape.table) for shape in slide.shapes if shape.has_table]
        if slide.has_notes_slide and slide.notes_slide.notes_text_frame:
            texts.append(slide.notes_slide.notes_text_frame.text)
        text = "\n\n".join(each for each in texts if each.strip()).replace("\f", " ")
        size = _add_length(size, text)
        slides.append(text.replace("\v", "\n"))
    yield _text("\f".join(slides))


def xlsx(file: BinaryIO) -> Iterator[Frame]:
    import openpyxl  # noqa: PLC0415

    book = openpyxl.load_workbook(file, read_only=True, data_only=True)
    lines: list[str] = []
    cells = size = 0
    for sheet in book.worksheets:
        lines += ["", f"# {sheet.title}", ""]
        for row in sheet.iter_rows(values_only=True):
            cells += len(row)
            if cells > MOST_CELLS:
                raise TooMuch(f"The file has more than {MOST_CELLS:,} cells.")
            line = " | ".join("" if value is None else str(value) for value in row).strip(" |")
            if line:
                size = _add_length(size, line)
                lines.append(line)
    yield _text("\n".join(lines).strip("\n"))


def text(file: BinaryIO) -> Iterator[Frame]:
    content = decode_text(file.read(4 * MOST_CHARACTERS))
    _add_length(0, content)
    yield {}, content.encode()


def html(file: BinaryIO) -> Iterator[Frame]:
    from knowledge.parsing.html import text_of  # noqa: PLC0415

    title, text = text_of(file.read(MOST_CHARACTERS))
    _add_length(0, text)
    yield _text(text, title=title)


def archive(file: BinaryIO) -> Iterator[Frame]:
    import zipfile  # noqa: PLC0415

    with zipfile.ZipFile(file) as packed:
        for info in packed.infolist():
            parts = info.filename.replace("\\", "/").split("/")
            # Hidden and system files, and paths that are absolute or leave the archive.
            skipped = any(part.startswith((".", "__MACOSX")) or not part for part in parts)
            encrypted, is_link = info.flag_bits & 1, stat.S_ISLNK(info.external_attr >> 16)
            if not (info.is_dir() or skipped or encrypted or is_link):
                yield {"name": "/".join(parts)}, packed.read(info)


def _refuse_bombs(file: BinaryIO) -> None:
    """Refuse archives whose declared sizes exceed the limits."""
    import zipfile  # noqa: PLC0415

    packed = Path(f"/proc/self/fd/{file.fileno()}").stat().st_size
    with zipfile.ZipFile(file) as opened:
        infos = opened.infolist()
        size = sum(info.file_size for info in infos)
    if len(infos) > MOST_FILES:
        raise TooMuch(f"The archive has {len(infos):,} files. The limit is {MOST_FILES:,} files.")
    if size > MOST_UNPACKED or size > packed * MOST_RATIO + SLACK:
        raise TooMuch(
            f"The archive unpacks to {size:,} bytes, "
            f"which is too large for its size of {packed:,} bytes."
        )
    file.seek(0)


def _add_length(size: int, text: str) -> int:
    size += len(text)
    if size > MOST_CHARACTERS:
        raise TooMuch(f"The file has more than {MOST_CHARACTERS:,} characters of text.")
    return size


def _text(text: str, **more: str) -> Frame:
    """Return a text that the database can store: without NUL and unpaired surrogates."""
    cleaned = text.replace("\x00", "").replace("\r\n", "\n").replace("\r", "\n")
    return more, cleaned.encode("utf-8", "replace")


READERS: dict[str, Callable[[BinaryIO], Iterator[Frame]]] = {
    "text": text,
    "pdf": pdf,
    "docx": docx,
    "pptx": pptx,
    "xlsx": xlsx,
    "html": html,
    "zip": archive,
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
            _refuse_bombs(sys.stdin.buffer)
        for head, data in READERS[parser](sys.stdin.buffer):
            _send(out, {**head, "length": len(data)}, data)
            for version, tokens in chunk_settings.get("tokens", {}).items():
                shape, language = Shape(chunk_settings["shape"]), chunk_settings["language"]
                chunks = _dump_chunks(
                    chunked(data.decode(), shape, tokens=tokens, language=language)
                )
                _send(out, {"version": version, "length": len(chunks)}, chunks)
    except (TooMuch, NotText) as error:
        _send(out, {"refused": str(error)})
    except MemoryError:
        _send(out, {"refused": "Parsing needs more memory than is allowed for one file."})
    except Exception as error:  # noqa: BLE001 - libraries fail in as many ways as files are broken
        kind = type(error).__name__
        reason = f"The file is damaged or its content does not match its type ({kind})."
        _send(out, {"refused": reason})
    else:
        _send(out, {"done": True})


def _dump_chunks(chunks: Sequence[Chunk]) -> bytes:
    rows = [
        [each.start, each.end, each.line_start, each.line_end, each.page, each.headings]
        for each in chunks
    ]
    return json.dumps(rows).encode()


def _send(out: IO[bytes], head: dict[str, Any], data: bytes = b"") -> None:
    out.write(json.dumps(head).encode() + b"\n" + data)
    out.flush()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), json.loads(sys.argv[4]))
