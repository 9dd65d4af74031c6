"""What stands in a conversation in the place of a tool result that is kept elsewhere. Pure.

The first line names the archive, and nothing below it can: whatever a tool returned is folded into
single lines first.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

LANGUAGES = ("zh", "en")
TOOL = "load_tool_history"
RULE = "━" * 37
SUMMARY = 200  # characters of the summary that are shown; the archive keeps more
QUERY = 120
SOURCES = 3
SOURCE = 120

_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_WHOLE = re.compile(
    rf"📎 \[(?:工具结果存档|Tool result archived): (?P<uuid>{_UUID})\]\n.*"
    rf"{TOOL}\(uuid=\"(?P=uuid)\"\)",
    re.DOTALL,
)
_PASSAGES = re.compile(rf"📎 \[(?:工具结果节选|Passages of tool result): (?P<uuid>{_UUID})\]\n")
_NAMED = re.compile(
    r"(?:📎 \[(?:工具结果存档|Tool result archived|工具结果节选|Passages of tool result): "
    rf"|{TOOL}\(uuid=\")(?P<uuid>{_UUID})"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Archived:
    """What a placeholder says about an archive."""

    uuid: UUID
    tool_name: str
    query: str
    time: str
    length: int  # characters
    summary: str
    sources: tuple[str, ...] = ()


def placeholder(archived: Archived, language: str) -> str:
    return (_zh if language == "zh" else _en)(archived)


def _zh(archived: Archived) -> str:
    sources = "\n".join(f"- {one}" for one in _sources(archived)) or "- 无"
    return (
        f"📎 [工具结果存档: {archived.uuid}]\n{RULE}\n"
        f"工具: {folded(archived.tool_name, QUERY)}\n"
        f"查询: {folded(archived.query, QUERY)}\n"
        f"时间: {archived.time}\n"
        f"原始长度: {archived.length}字\n{RULE}\n"
        f"内容摘要:\n{folded(archived.summary, SUMMARY)}\n\n"
        f"主要来源:\n{sources}\n{RULE}\n"
        f'如需查看完整内容，请调用 {TOOL}(uuid="{archived.uuid}")'
    )


def _en(archived: Archived) -> str:
    sources = "\n".join(f"- {one}" for one in _sources(archived)) or "- none"
    return (
        f"📎 [Tool result archived: {archived.uuid}]\n{RULE}\n"
        f"Tool: {folded(archived.tool_name, QUERY)}\n"
        f"Query: {folded(archived.query, QUERY)}\n"
        f"Time: {archived.time}\n"
        f"Original length: {archived.length} characters\n{RULE}\n"
        f"Summary:\n{folded(archived.summary, SUMMARY)}\n\n"
        f"Main sources:\n{sources}\n{RULE}\n"
        f'To read all of it, call {TOOL}(uuid="{archived.uuid}")'
    )


def _sources(archived: Archived) -> list[str]:
    return [folded(one, SOURCE) for one in archived.sources[:SOURCES]]


def passages_header(uuid: UUID, language: str) -> str:
    """What stands above passages that were loaded of an archive, so that they can go again."""
    if language == "zh":
        return f"📎 [工具结果节选: {uuid}]\n"
    return f"📎 [Passages of tool result: {uuid}]\n"


def archive_of(text: str) -> UUID | None:
    """The archive that a placeholder stands for; None when the text is no placeholder."""
    found = _WHOLE.fullmatch(text)
    return UUID(found["uuid"]) if found else None


def passages_of(text: str) -> UUID | None:
    """The archive that loaded passages are of."""
    found = _PASSAGES.match(text)
    return UUID(found["uuid"]) if found else None


def named_in(text: str) -> Iterator[str]:
    """Every archive that a text names the way we do, wherever in it: a head may stand before."""
    return (found["uuid"] for found in _NAMED.finditer(text))


def folded(text: str, most: int) -> str:
    """On one line, and no longer than that."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
