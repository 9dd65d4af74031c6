"""Placeholders of archived tool results in a conversation. Pure.

Only the first line can name an archive: text from tools is folded into single lines, so that it
cannot forge one.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

TOOL = "load_tool_history"
SEPARATOR = "━" * 37
MAX_SUMMARY = 200  # characters; the archive stores more
MAX_QUERY = 120
MAX_SOURCES = 3
MAX_SOURCE = 120
MAX_PLACEHOLDER = 2_000  # characters; a longer text of this form is a tool's own, and can be pruned

_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_PLACEHOLDER = re.compile(
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
    uuid: UUID
    tool_name: str
    query: str
    time: str
    length: int  # characters
    summary: str
    sources: tuple[str, ...] = ()


_TEMPLATES = {
    "zh": (
        f"📎 [工具结果存档: {{uuid}}]\n{SEPARATOR}\n"
        "工具: {tool}\n查询: {query}\n时间: {time}\n"
        f"原始长度: {{length}}字\n{SEPARATOR}\n"
        f"内容摘要:\n{{summary}}\n\n主要来源:\n{{sources}}\n{SEPARATOR}\n"
        f'如需查看完整内容，请调用 {TOOL}(uuid="{{uuid}}")'
    ),
    "en": (
        f"📎 [Tool result archived: {{uuid}}]\n{SEPARATOR}\n"
        "Tool: {tool}\nQuery: {query}\nTime: {time}\n"
        f"Original length: {{length}} characters\n{SEPARATOR}\n"
        f"Summary:\n{{summary}}\n\nMain sources:\n{{sources}}\n{SEPARATOR}\n"
        f'To read all of it, call {TOOL}(uuid="{{uuid}}")'
    ),
}
_NO_SOURCES = {"zh": "- 无", "en": "- none"}


def render_placeholder(archived: Archived, language: str) -> str:
    language = "zh" if language == "zh" else "en"
    sources = [f"- {fold_text(source, MAX_SOURCE)}" for source in archived.sources[:MAX_SOURCES]]
    return _TEMPLATES[language].format(
        uuid=archived.uuid,
        tool=fold_text(archived.tool_name, MAX_QUERY),
        query=fold_text(archived.query, MAX_QUERY),
        time=archived.time,
        length=archived.length,
        summary=fold_text(archived.summary, MAX_SUMMARY),
        sources="\n".join(sources) or _NO_SOURCES[language],
    )


def passages_header(uuid: UUID, language: str) -> str:
    """Return the line above loaded passages, by which they can be replaced again."""
    if language == "zh":
        return f"📎 [工具结果节选: {uuid}]\n"
    return f"📎 [Passages of tool result: {uuid}]\n"


def parse_placeholder(text: str) -> UUID | None:
    match = _PLACEHOLDER.fullmatch(text) if len(text) <= MAX_PLACEHOLDER else None
    return UUID(match["uuid"]) if match else None


def parse_passages_header(text: str) -> UUID | None:
    match = _PASSAGES.match(text)
    return UUID(match["uuid"]) if match else None


def find_named_archives(text: str) -> Iterator[str]:
    """Yield every archive that the text names, wherever it is in the text."""
    return (match["uuid"] for match in _NAMED.finditer(text))


def fold_text(text: str, max_length: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= max_length else f"{line[: max_length - 1]}…"
