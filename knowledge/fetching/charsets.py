"""Conversion of fetched pages to UTF-8 from the charset that their HTTP header states. Pure."""

import codecs
import re

# Names in Python. Other codecs are no charsets of pages, and some take quadratic time.
_CODECS = frozenset(
    {
        *(f"cp125{number}" for number in range(9)),
        *(f"iso8859-{number}" for number in (*range(2, 12), *range(13, 17))),
        *("big5hkscs", "cp932", "cp949", "cp950", "euc_jp", "gb18030", "iso2022_jp"),
        *("koi8-r", "koi8-u", "utf-16", "utf-16-be", "utf-16-le"),
    }
)
# What browsers decode instead: pages contain characters that only the larger charset has.
_SUPERSETS = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "big5": "cp950",
    "gb2312": "gb18030",
    "gbk": "gb18030",
}
_CHARSET = re.compile(r"""charset\s*=\s*["']?([a-z0-9][\w.:-]{1,39})""", re.IGNORECASE | re.ASCII)
_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def find_codec(content_type: str) -> str:
    """Return Python's name of the charset in a Content-Type header; empty if there is none."""
    stated = _CHARSET.search(content_type)
    try:
        name = codecs.lookup(stated[1]).name if stated else ""
    except LookupError:
        return ""
    name = _SUPERSETS.get(name, name)
    return name if name in _CODECS else ""


def convert_to_utf8(data: bytes, codec: str) -> bytes:
    """Return a page in UTF-8; unchanged if it has a byte order mark, is UTF-8 or cannot be decoded.

    Servers often state a wrong default for pages in UTF-8, and other text is rarely valid UTF-8.
    """
    if data.startswith(_MARKS) or _is_utf8(data):
        return data
    try:
        return data.decode(codec).encode()
    except UnicodeError:
        return data


def _is_utf8(data: bytes) -> bool:
    if b"\x00" in data or b"\x1b" in data:  # these texts may be all ASCII bytes
        return False
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
