"""Shortening of tool results for one call. Pure.

`soft_trim` keeps the head and the tail around a marker; `hard_clear` leaves a pointer. No cut
splits a grapheme cluster or a citation such as [m-19] or 【3】.
"""

import re
import unicodedata
from uuid import UUID

from context.archives.placeholders import TOOL

CITATION = re.compile(r"\[[^\[\]\n]{1,80}\]|【[^【】\n]{1,80}】")
JOINER = "\u200d"
CITATION_WINDOW = 84  # characters on each side of a cut that may belong to one citation


def soft_trim(text: str, *, head: int, tail: int, language: str, archive: UUID | None) -> str:
    """Return the head and the tail of the text, or the text if that is not shorter."""
    first = _move_cut(text, head, -1)
    last = _move_cut(text, len(text) - tail, 1) if tail else len(text)
    if first >= last:
        return text
    marker = _marker(last - first, language, archive)
    trimmed = f"{text[:first]}\n{marker}\n{text[last:]}"
    return trimmed if len(trimmed) < len(text) else text


def _marker(left_out: int, language: str, archive: UUID | None) -> str:
    if language == "zh":
        hint = f'，完整内容: {TOOL}(uuid="{archive}")' if archive else ""
        return f"…（此处省略{left_out}字{hint}）…"
    hint = f'; for all of it: {TOOL}(uuid="{archive}")' if archive else ""
    return f"… ({left_out} characters left out{hint}) …"


def hard_clear(tool_name: str, length: int, *, language: str, archive: UUID | None) -> str:
    """Return the placeholder of a removed result: its tool, its length and how to load it."""
    name = " ".join(tool_name.split())[:100]
    if language == "zh":
        hint = f'调用 {TOOL}(uuid="{archive}") 取回' if archive else "需要时请重新调用该工具"
        return f"（工具结果已移出上下文: {name}，{length}字；{hint}）"
    hint = f'call {TOOL}(uuid="{archive}")' if archive else "call the tool again if needed"
    return f"(Tool result moved out of the context: {name}, {length} characters; {hint})"


def _move_cut(text: str, index: int, step: int) -> int:
    """Return the nearest position where the text may be cut: before `index`, or after it."""
    index = max(0, min(index, len(text)))
    for match in CITATION.finditer(text, max(0, index - CITATION_WINDOW), index + CITATION_WINDOW):
        if match.start() < index < match.end():
            index = match.start() if step < 0 else match.end()
            break
    while 0 < index < len(text) and _is_inside_character(text, index):
        index += step
    return index


def _is_inside_character(text: str, index: int) -> bool:
    """Return whether the characters on both sides of `index` form one grapheme."""
    left, right = text[index - 1], text[index]
    return (
        unicodedata.combining(right) != 0
        or unicodedata.category(right) in ("Mn", "Me", "Cf")
        or "\U0001f3fb" <= right <= "\U0001f3ff"
        or left == JOINER
        or (left == "\r" and right == "\n")
        or _is_inside_flag(text, index)
    )


def _is_inside_flag(text: str, index: int) -> bool:
    """Return whether `index` splits a flag, that is two regional indicators of a run."""
    if not (_is_regional_indicator(text[index - 1]) and _is_regional_indicator(text[index])):
        return False
    start = index
    while start and index - start < CITATION_WINDOW and _is_regional_indicator(text[start - 1]):
        start -= 1
    return (index - start) % 2 == 1


def _is_regional_indicator(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"
