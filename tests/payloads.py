"""Sixty texts that run code on a page that does not escape them.

Tests notice that code by a dialog, a request for `/canary` or another host, or a violation of the
content security policy. `WHERE` has a vulnerable page for each kind of place; some of these pages
decode the text first.
"""

import html
import tomllib
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import unquote


@dataclass(frozen=True, slots=True)
class Payload:
    """A text, and the kind of place in a page where it would run."""

    text: str
    where: str

    def careless(self) -> str:
        """Return the body of a page that does not escape it."""
        hole, decoded = WHERE[self.where]
        return hole.replace("HERE", decoded(self.text))


def _unescaped(text: str) -> str:
    return text.encode().decode("unicode_escape")


WHERE: dict[str, tuple[str, Callable[[str], str]]] = {
    "text": ("<p>HERE</p>", str),
    "double quotes": ('<input value="HERE">', str),
    "single quotes": ("<input value='HERE'>", str),
    "no quotes": ("<input value=HERE>", str),
    "title": ("<title>HERE</title>", str),
    "textarea": ("<textarea>HERE</textarea>", str),
    "option": ("<select><option>HERE</option></select>", str),
    "comment": ("<!-- HERE -->", str),
    "script": ('<script type="application/json">"HERE"</script>', str),
    "style": ("<style>HERE</style>", str),
    "drawing": ("<svg><text>HERE</text></svg>", str),
    "data": ("<svg><title><![CDATA[HERE]]></title></svg>", str),
    "link": ('<a id="go" href="HERE">source</a>', str),
    "unescaped twice": ("<p>HERE</p>", html.unescape),
    "unquoted": ("<p>HERE</p>", unquote),
    "script unescaped": ("<p>HERE</p>", _unescaped),
    "made normal": ("<p>HERE</p>", partial(unicodedata.normalize, "NFKC")),
}
FILE = Path(__file__).parent / "data" / "payloads.toml"
TEXTS: dict[str, list[str]] = tomllib.loads(FILE.read_text(encoding="utf-8"))
PAYLOADS = [Payload(text, where) for where, texts in TEXTS.items() for text in texts]
