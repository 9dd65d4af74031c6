"""Detection of file formats by name and first bytes. Pure."""

from dataclasses import dataclass
from pathlib import PurePosixPath

from knowledge.chunking import Shape
from knowledge.chunking.headings import (
    find_metadata_title,
    split_markdown_sections,
    split_plain_sections,
)


@dataclass(frozen=True, slots=True)
class Format:
    """Format of a file. Without a parser, its bytes are its text."""

    mime: str
    parser: str = ""
    shape: Shape = Shape.PLAIN
    language: str = ""


PLAIN = Format("text/plain")
MARKDOWN = Format("text/markdown", shape=Shape.MARKDOWN)
HTML = Format("text/html", parser="html", shape=Shape.MARKDOWN)
ARCHIVE = Format("application/zip", parser="zip")
_OFFICE = "application/vnd.openxmlformats-officedocument."

_FORMATS = {
    ("md", "markdown", "mdx"): MARKDOWN,
    ("txt",): PLAIN,
    ("rst",): Format("text/x-rst"),
    ("html", "htm", "xhtml"): HTML,
    ("csv",): Format("text/csv"),
    ("tsv",): Format("text/tab-separated-values"),
    ("json",): Format("application/json"),
    ("yaml", "yml"): Format("application/yaml"),
    ("toml",): Format("application/toml"),
    ("pdf",): Format("application/pdf", parser="pdf", shape=Shape.PAGES),
    ("docx",): Format(_OFFICE + "wordprocessingml.document", parser="docx", shape=Shape.MARKDOWN),
    ("pptx",): Format(_OFFICE + "presentationml.presentation", parser="pptx", shape=Shape.PAGES),
    ("xlsx",): Format(_OFFICE + "spreadsheetml.sheet", parser="xlsx", shape=Shape.MARKDOWN),
    ("zip",): ARCHIVE,
}
_LANGUAGES = {
    ("py", "pyi"): "python",
    ("js", "mjs", "jsx"): "javascript",
    ("ts",): "typescript",
    ("rs",): "rust",
    ("c", "h"): "c",
    ("rb",): "ruby",
    ("sh",): "shell",
} | {(name,): name for name in ("tsx", "go", "java", "sql", "css")}
_FORMATS |= {
    endings: Format(f"text/x-{language}", shape=Shape.CODE, language=language)
    for endings, language in _LANGUAGES.items()
}
_BY_NAME = {ending: each for endings, each in _FORMATS.items() for ending in endings}
_BY_MIME = {each.mime: each for each in _BY_NAME.values()} | {
    "text/plain": PLAIN,
    "application/xhtml+xml": HTML,
}
_ZIP, _PDF = b"PK\x03\x04", b"%PDF-"
EXTENSIONS = tuple(sorted(_BY_NAME))


class NotText(ValueError):
    """The reason why bytes cannot be decoded as text."""


def find_format(ref: str, mime: str = "", head: bytes = b"") -> Format | None:
    """Return the format of a file, or None. The file name takes precedence over its MIME type.

    But HTML stays HTML: addresses of pages end like other names, as `/README.md` and `docs.rs`.
    """
    stated = _BY_MIME.get(mime.partition(";")[0].strip().lower())
    file_format = _BY_NAME.get(PurePosixPath(ref.lower()).suffix.lstrip(".")) or stated
    if head.startswith(_PDF):
        return _BY_NAME["pdf"]
    if head.startswith(_ZIP):
        zipped = file_format and file_format.parser in ("docx", "pptx", "xlsx", "zip")
        return file_format if zipped else ARCHIVE
    if stated == HTML:
        return HTML
    if file_format is None and head and b"\x00" not in head:
        return PLAIN
    return file_format


def get_archive_folder(ref: str) -> str:
    """Return the folder of the files of an archive: its path without the extension."""
    path = PurePosixPath(ref)
    return str(path.with_suffix("") if path.name else path)


def decode_text(data: bytes) -> str:
    """Decode bytes as Unicode or in the Chinese national encoding."""
    codecs = ["utf-16"] if data.startswith((b"\xff\xfe", b"\xfe\xff")) else ["utf-8-sig", "gb18030"]
    for codec in codecs:
        try:
            text = data.decode(codec)
        except UnicodeDecodeError:
            continue
        if "\x00" in text:
            break
        return text
    raise NotText("The text encoding is not supported. Use UTF-8, UTF-16 or GB 18030.")


def extract_title(ref: str, text: str, shape: Shape) -> str:
    """Return the title in the metadata of a document, its first heading, or its file name."""
    if shape is Shape.MARKDOWN and (title := find_metadata_title(text)):
        return title[:500]
    if shape in (Shape.MARKDOWN, Shape.PLAIN):
        sections = split_markdown_sections if shape is Shape.MARKDOWN else split_plain_sections
        for section in sections(text[:5_000]):
            if section.headings:
                return section.headings[0]
    return PurePosixPath(ref).name[:500] or ref[:500]
