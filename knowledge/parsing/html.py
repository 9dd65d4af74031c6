"""HTML as text with its structure: headings, lists, tables, code. Not recursive."""

import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from html.parser import HTMLParser

from knowledge.fetching.charsets import find_codec

SKIPPED_TAGS = frozenset(
    {"script", "style", "noscript", "template", "svg", "head", "iframe", "object"}
)
_BLOCK = re.compile(
    "p|div|section|article|main|header|footer|aside|nav|[uod]l|table|tr|blockquote|pre|figure"
    "|d[td]|form|fieldset|address|hr|h[1-6]|li"
)
_CHARSET = re.compile(rb"""<meta[^>]{0,200}charset=["']?([\w-]{2,30})""", re.IGNORECASE)
_SPACES = re.compile(r"[ \t\r\n\f\v\u00a0]+")
_BLANK = re.compile(r"\n[ \t]*(?:\n[ \t]*)+")


def extract_text(data: bytes) -> tuple[str, str]:
    """Return the title of a page and its text as Markdown."""
    reader = _Reader()
    reader.feed(_decode(data))
    reader.close()
    text = _BLANK.sub("\n\n", "".join(reader.out)).strip()
    return _SPACES.sub(" ", "".join(reader.title)).strip()[:500], text


def _decode(data: bytes) -> str:
    declared = _CHARSET.search(data[:4_000])
    name = declared[1].decode("ascii") if declared else ""
    # Pages contain characters that only a larger charset than the declared one has.
    codecs = ["utf-8-sig", find_codec(f"charset={name}"), name, "gb18030"]
    if data.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        codecs = ["utf-16"]
    for codec in filter(None, codecs):
        try:
            return data.decode(codec)
        except (UnicodeDecodeError, LookupError):
            continue
    return data.decode("utf-8", "replace")


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.out: list[str] = []
        self.title: list[str] = []
        self.skipped_depth = 0
        self.in_title = self.in_pre = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in SKIPPED_TAGS:
            self.skipped_depth += 1
        elif tag == "body":
            self.skipped_depth = 0  # the head may lack its end tag
        # Only the first one is the title of the page; drawings have titles, too.
        self.in_title = self.in_title or (tag == "title" and not self.title)
        if not self.skipped_depth:
            self.in_pre = self.in_pre or tag == "pre"
            self.out.append(_render_start_tag(tag))

    def handle_endtag(self, tag: str) -> None:
        if tag == "title":
            self.in_title = False
        elif tag in SKIPPED_TAGS:
            self.skipped_depth = max(0, self.skipped_depth - 1)
        elif tag == "pre" and self.in_pre:
            self.in_pre = False
            self.out.append("\n```\n")
        elif _BLOCK.fullmatch(tag) and not self.skipped_depth:
            self.out.append("\n" if tag in ("li", "tr") else "\n\n")

    def handle_data(self, data: str) -> None:
        if self.in_title:
            self.title.append(data)
        elif not self.skipped_depth:
            self.out.append(data if self.in_pre else _SPACES.sub(" ", data))


def _render_start_tag(tag: str) -> str:
    plain = {"br": "\n", "td": " | ", "th": " | ", "li": "\n- ", "tr": "\n", "pre": "\n\n```\n"}
    if tag in plain:
        return plain[tag]
    if not _BLOCK.fullmatch(tag):
        return ""
    return "\n\n" + ("#" * int(tag[1]) + " " if re.fullmatch("h[1-6]", tag) else "")
