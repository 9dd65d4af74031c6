"""Rendering of Markdown for people: no raw HTML, no foreign images, no styles, no scripts.

The parser escapes HTML, and the result is sanitized again by a list of allowed tags.
"""

import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from time import monotonic
from typing import Any
from uuid import UUID

import nh3
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import EnvType

from kmapp.web.invisible_characters import mark_invisible
from kmapp.web.object_links import ObjectLink, resolve_links

_LINK = re.compile(r"\[\[([a-z]{1,20}):([0-9a-fA-F-]{36})(?:\|([^\]\n]{1,80}))?\]\]")
_SAFE_TARGET = re.compile(r"(?:https?://|mailto:|[/#](?!/))", re.IGNORECASE)
_OWN_IMAGE = re.compile(r"/knowledge/images/[0-9a-f]{64}/")
_ALIGNMENT = "style"  # set by the parser on cells; the CSP forbids inline styles
_LAST_HEADING = 6
# Some input takes the parser quadratic time. A text that takes longer is rendered as plain text, so
# that it does not block the process.
_MAX_SECONDS = 2.0
_MAX_ADDED_CELLS = 2_000  # empty cells that the parser adds to the short rows of a table
_TAGS = {
    *("p", "br", "hr", "em", "strong", "s", "code", "pre", "blockquote", "a", "img", "span"),
    *("h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "div"),
    *("table", "thead", "tbody", "tr", "th", "td"),
}
_ATTRIBUTES = {
    "a": {"href", "title", "class"},
    "img": {"src", "alt", "title", "loading"},
    "code": {"class"},
    "ol": {"start"},
    "span": {"class", "title"},
    "div": {"class", "id"},
}


class _DeadlineExceeded(Exception):
    """The text takes too long to render."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedLines:
    """Lines of a text that are marked, from 1."""

    first: int
    last: int


def render_markdown(
    text: str, *, account_id: UUID, title: str = "", passage: MarkedLines | None = None
) -> SafeString:
    """Render a text. A first heading that is equal to `title` is left out. Inside `acting`.

    A text that takes longer than `_MAX_SECONDS` is rendered as plain text.
    """
    try:
        html = _render_blocks(text, account_id, title, passage)
    except _DeadlineExceeded:
        return render_plain(text, passage=passage)
    clean = nh3.clean(
        html,
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
    )
    return mark_safe(clean)  # noqa: S308 - sanitized above


def _render_blocks(text: str, account_id: UUID, title: str, passage: MarkedLines | None) -> str:
    """Return the HTML of a text, which is not sanitized yet."""
    parser = _get_parser()
    env: EnvType = {"deadline": monotonic() + _MAX_SECONDS, "open_links": []}
    tokens = parser.parse(text, env)
    env["links"] = resolve_links(account_id, _list_linked_objects(tokens))
    blocks = list(_split_blocks(tokens))
    if blocks and title and _get_heading_text(blocks[0]) == title:
        blocks = blocks[1:]
    parts, is_marked = [], False
    for block in blocks:
        _check_deadline(env)
        html = str(parser.renderer.render(block, parser.options, env))
        if _is_inside(block, passage):
            anchor = "" if is_marked else ' id="passage"'
            html, is_marked = f'<div class="is-cited"{anchor}>{html}</div>', True
        parts.append(html)
    return "".join(parts)


def render_plain(text: str, *, passage: MarkedLines | None = None) -> SafeString:
    """Render a plain text with its line breaks, and its passage marked."""
    lines = text.split("\n")
    first, last = (passage.first - 1, passage.last) if passage else (0, 0)
    before, cited, after = (
        mark_invisible("\n".join(part)) for part in (lines[:first], lines[first:last], lines[last:])
    )
    if not passage:
        return format_html('<pre class="plain-text">{}</pre>', after)
    return format_html(
        '<pre class="plain-text">{}</pre><div class="is-cited" id="passage">'
        '<pre class="plain-text">{}</pre></div><pre class="plain-text">{}</pre>',
        *(before, cited, after),
    )


def _list_linked_objects(tokens: Iterable[Token]) -> list[tuple[str, UUID]]:
    children = (child for token in tokens for child in token.children or ())
    return [child.meta["object"] for child in children if child.type == "object_link"]


def _split_blocks(tokens: Sequence[Token]) -> Iterable[list[Token]]:
    """Yield the tokens of each block of the outermost level."""
    block: list[Token] = []
    depth = 0
    for token in tokens:
        block.append(token)
        depth += token.nesting
        if depth == 0:
            yield block
            block = []


def _get_heading_text(block: Sequence[Token]) -> str:
    return block[1].content.strip() if block[0].type == "heading_open" else ""


def _is_inside(block: Sequence[Token], passage: MarkedLines | None) -> bool:
    lines = block[0].map
    return bool(passage and lines and lines[0] < passage.last and lines[1] >= passage.first)


@cache
def _get_parser() -> MarkdownIt:
    parser = MarkdownIt("js-default", {"html": False, "linkify": False})
    # The package exports the function `table` under the name of its module.
    table: Any = sys.modules["markdown_it.rules_block.table"]
    table.MAX_AUTOCOMPLETED_CELLS = _MAX_ADDED_CELLS
    # Each line of these blocks is checked, too.
    inside = ["paragraph", "reference", "blockquote", "list"]
    parser.block.ruler.before("table", "deadline", _check_block_deadline, {"alt": inside})
    parser.inline.ruler.before("text", "deadline", _check_inline_deadline)
    parser.inline.ruler.before("link", "object_link", _parse_object_link)
    rules: Mapping[str, Callable[..., str]] = {
        "text": _render_text,
        "code_inline": _render_code,
        "code_block": _render_code_block,
        "fence": _render_code_block,
        "image": _render_image,
        "link_open": _render_link_open,
        "link_close": _render_link_close,
        "object_link": _render_object_link,
        "heading_open": _render_heading,
        "heading_close": _render_heading,
        "th_open": _render_cell,
        "td_open": _render_cell,
    }
    for name, rule in rules.items():
        parser.add_render_rule(name, rule)
    return parser


def _check_deadline(env: EnvType) -> None:
    if monotonic() > env["deadline"]:
        raise _DeadlineExceeded


def _check_block_deadline(state: StateBlock, _first: int, _last: int, _silent: bool) -> bool:  # noqa: FBT001 - called by the parser
    _check_deadline(state.env)
    return False


def _check_inline_deadline(state: StateInline, _silent: bool) -> bool:  # noqa: FBT001 - called by the parser
    _check_deadline(state.env)
    return False


def _parse_object_link(state: StateInline, silent: bool) -> bool:  # noqa: FBT001 - called by the parser
    match = _LINK.match(state.src, state.pos)
    if match is None:
        return False
    try:
        target = (match[1], UUID(match[2]))
    except ValueError:
        return False
    if not silent:
        token = state.push("object_link", "", 0)
        token.content, token.meta = match[0], {"object": target, "label": match[3]}
    state.pos = match.end()
    return True


def _render_text(
    _self: RendererHTML, tokens: Sequence[Token], i: int, _options: Any, env: Any
) -> str:
    _check_deadline(env)
    return mark_invisible(tokens[i].content)


def _render_code(_self: RendererHTML, tokens: Sequence[Token], i: int, *_rest: Any) -> str:
    return f"<code>{mark_invisible(tokens[i].content)}</code>"


def _render_code_block(_self: RendererHTML, tokens: Sequence[Token], i: int, *_rest: Any) -> str:
    return f"<pre><code>{mark_invisible(tokens[i].content)}</code></pre>\n"


def _render_image(
    self: RendererHTML, tokens: Sequence[Token], i: int, options: Any, env: Any
) -> str:
    """Render an image of this product; another one as a link, so that no page loads it."""
    token = tokens[i]
    source = str(token.attrs.get("src", ""))
    alt = self.renderInlineAsText(token.children, options, env)
    if _OWN_IMAGE.fullmatch(source):
        return format_html('<img src="{}" alt="{}" loading="lazy">', source, alt)
    if source.startswith(("http://", "https://")):
        return format_html('<a href="{}">{}</a>', source, alt or source)
    return escape(alt)


def _render_link_open(
    _self: RendererHTML, tokens: Sequence[Token], i: int, _options: Any, env: Any
) -> str:
    _check_deadline(env)
    href = str(tokens[i].attrs.get("href", ""))
    # A path relative to the document's source is no address here, so only its text is shown.
    is_safe = _SAFE_TARGET.match(href)
    env["open_links"].append("</a>" if is_safe else "</span>")
    return format_html('<a href="{}">', href) if is_safe else "<span>"


def _render_link_close(
    _self: RendererHTML, _tokens: Sequence[Token], _i: int, _options: Any, env: Any
) -> str:
    closing: str = env["open_links"].pop()
    return closing


def _render_object_link(
    _self: RendererHTML, tokens: Sequence[Token], i: int, _options: Any, env: Any
) -> str:
    meta = tokens[i].meta
    link: ObjectLink | None = env["links"].get(meta["object"])
    if link is None:
        return format_html('<code class="is-struck">{}</code>', tokens[i].content)
    return format_html(
        '<a class="object-link" href="{}">{}</a>', link.url, meta["label"] or link.title
    )


def _render_heading(_self: RendererHTML, tokens: Sequence[Token], i: int, *_rest: Any) -> str:
    """Render a heading one level lower, because the page has its own first heading."""
    level = min(int(tokens[i].tag[1]) + 1, _LAST_HEADING)
    return f"</h{level}>\n" if tokens[i].nesting < 0 else f"<h{level}>"


def _render_cell(
    self: RendererHTML, tokens: Sequence[Token], i: int, options: Any, env: Any
) -> str:
    _check_deadline(env)
    tokens[i].attrs.pop(_ALIGNMENT, None)
    return self.renderToken(tokens, i, options, env)
