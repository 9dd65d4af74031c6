"""Shortening what a tool returned, for one call only. Pure.

`soft_trim` keeps the head and the tail around a marker; `hard_clear` leaves a pointer. No cut goes
through what people see as one character, or through a citation such as [m-19] or 【3】.
"""

import re
import unicodedata
from uuid import UUID

from context.archives.placeholders import TOOL

CITATION = re.compile(r"\[[^\[\]\n]{1,80}\]|【[^【】\n]{1,80}】")
JOINER = "\u200d"
NEAR = 84  # characters around a cut in which a citation could be open


def soft_trim(text: str, *, head: int, tail: int, language: str, archive: UUID | None) -> str:
    """Head and tail of the text. A text that would not get shorter stays."""
    first = before(text, head)
    last = after(text, len(text) - tail) if tail else len(text)
    if first >= last:
        return text
    marker = _marker(last - first, language, archive)
    trimmed = f"{text[:first]}\n{marker}\n{text[last:]}"
    return trimmed if len(trimmed) < len(text) else text


def _marker(left_out: int, language: str, archive: UUID | None) -> str:
    if language == "zh":
        again = f'，完整内容: {TOOL}(uuid="{archive}")' if archive else ""
        return f"…（此处省略{left_out}字{again}）…"
    again = f'; for all of it: {TOOL}(uuid="{archive}")' if archive else ""
    return f"… ({left_out} characters left out{again}) …"


def hard_clear(tool_name: str, length: int, *, language: str, archive: UUID | None) -> str:
    """What stays of a result of which nothing stays: what it was, and how to get it back."""
    name = " ".join(tool_name.split())[:100]
    if language == "zh":
        again = f'调用 {TOOL}(uuid="{archive}") 取回' if archive else "需要时请重新调用该工具"
        return f"（工具结果已移出上下文: {name}，{length}字；{again}）"
    again = f'call {TOOL}(uuid="{archive}")' if archive else "call the tool again if needed"
    return f"(Tool result moved out of the context: {name}, {length} characters; {again})"


def before(text: str, at: int) -> int:
    """The last place up to `at` where the text may be cut."""
    at = max(0, min(at, len(text)))
    start = _citation_around(text, at)
    at = start[0] if start else at
    while 0 < at < len(text) and _together(text, at):
        at -= 1
    return at


def after(text: str, at: int) -> int:
    """The first place from `at` on where the text may be cut."""
    at = max(0, min(at, len(text)))
    around = _citation_around(text, at)
    at = around[1] if around else at
    while 0 < at < len(text) and _together(text, at):
        at += 1
    return at


def _citation_around(text: str, at: int) -> tuple[int, int] | None:
    for found in CITATION.finditer(text, max(0, at - NEAR), at + NEAR):
        if found.start() < at < found.end():
            return found.start(), found.end()
    return None


def _together(text: str, at: int) -> bool:
    """Whether the characters on both sides of `at` are seen as one."""
    left, right = text[at - 1], text[at]
    return (
        unicodedata.combining(right) != 0
        or unicodedata.category(right) in ("Mn", "Me", "Cf")
        or "\U0001f3fb" <= right <= "\U0001f3ff"
        or left == JOINER
        or (left == "\r" and right == "\n")
        or _flag(text, at)
    )


def _flag(text: str, at: int) -> bool:
    """Two regional letters are one flag; which two depends on how many stand before."""
    if not (_regional(text[at - 1]) and _regional(text[at])):
        return False
    start = at
    while start and at - start < NEAR and _regional(text[start - 1]):
        start -= 1
    return (at - start) % 2 == 1


def _regional(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"
