"""The tools of a call: strict schemas, groups and profiles. Pure."""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from context.archives.placeholders import TOOL
from context.assembly.strict_tool_schemas import normalise_schema
from context.assembly.token_counts import encode_json
from kmapp.runtime.in_process_caches import LruCache
from kmapp.text import token_counter

PROFILES: Mapping[str, frozenset[str] | None] = {
    "minimal": frozenset({"memory"}),
    "coding": frozenset({"memory", "fs", "devtools"}),
    "web": frozenset({"memory", "web"}),
    "full": None,  # all groups
}
MAX_CACHED_TOKENS = 500_000  # of tools in their strict form
GROUPS = ("memory", "fs", "devtools", "web", "other")
# Words in a tool's name that suggest its group, unless the client names the group.
_WORDS = {
    "memory": "memory memories knowledge recall remember history",
    "web": "web http https url browser browse fetch crawl scrape google bing",
    "fs": "file files dir directory folder path glob grep ls read write edit patch",
    "devtools": "bash shell exec run git python node test tests lint build debug docker sql",
}
_GROUP_OF = {word: group for group, words in _WORDS.items() for word in words.split()}
_PIECES = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedTool:
    name: str
    group: str
    schema: Mapping[str, Any]
    tokens: int
    strict: bool
    obstacles: tuple[str, ...]  # why it is not strict


def offer_tools(
    tools: Sequence[Mapping[str, Any]], groups: Mapping[str, str], *, strict: bool
) -> list[OfferedTool]:
    """Return every tool in its strict form, or unchanged if it has none."""
    return [
        _offer_cached(json.dumps(tool, ensure_ascii=False), groups.get(tool_name(tool), ""), strict)
        for tool in tools
    ]


def tool_name(tool: Mapping[str, Any]) -> str:
    """Return the name of an OpenAI function, an Anthropic tool or a provider's own tool."""
    function = tool.get("function")
    name = function.get("name") if isinstance(function, Mapping) else None
    return str(name or tool.get("name") or tool.get("type") or "tool")


_offered: LruCache[OfferedTool] = LruCache(MAX_CACHED_TOKENS, size_of=lambda tool: tool.tokens)


def _offer_cached(text: str, group: str, strict: bool) -> OfferedTool:  # noqa: FBT001 - a part of the key
    """Convert a tool; cached, because most calls repeat their schemas."""
    key = (text, group, strict)
    offered = _offered.get(key)
    if offered is None:
        offered = _offer_tool(text, group, strict=strict)
        _offered.put(key, offered)
    return offered


def _offer_tool(text: str, group: str, *, strict: bool) -> OfferedTool:
    """Convert a tool.

    `text` has the properties in their order, because models answer in that order.
    """
    tool = json.loads(text)
    schema, is_strict, obstacles = _make_strict(tool) if strict else (tool, False, ())
    name = tool_name(tool)
    return OfferedTool(
        name=name,
        group=group or guess_group(name),
        schema=schema,
        tokens=token_counter.count_tokens(encode_json(schema)),
        strict=is_strict,
        obstacles=obstacles,
    )


def _make_strict(tool: dict[str, Any]) -> tuple[dict[str, Any], bool, tuple[str, ...]]:
    function = tool.get("function")
    if isinstance(function, dict) and isinstance(function.get("parameters"), dict):
        result = normalise_schema(function["parameters"])
        schema = {**function, "parameters": result.schema, "strict": result.strict}
        return {**tool, "function": schema}, result.strict, result.obstacles
    if isinstance(tool.get("input_schema"), dict):
        result = normalise_schema(tool["input_schema"])
        return {**tool, "input_schema": result.schema}, result.strict, result.obstacles
    return tool, False, ("a tool of the provider's own",)


def guess_group(name: str) -> str:
    if name == TOOL:
        return "memory"
    words = [piece.lower() for piece in _PIECES.findall(name)]
    return next((_GROUP_OF[word] for word in words if word in _GROUP_OF), "other")


def filter_by_profile(
    tools: Sequence[OfferedTool], profile: str, required: Collection[str]
) -> list[OfferedTool]:
    """Return the tools of a profile, and the required ones whatever the profile."""
    groups = PROFILES[profile]
    if groups is None:
        return list(tools)
    return [tool for tool in tools if tool.group in groups or tool.name in required]


def list_narrower_profiles(
    tools: Sequence[OfferedTool], profile: str, required: Collection[str]
) -> list[str]:
    """Return profiles with fewer tools than this one, those with most tokens first."""
    current = {tool.name for tool in filter_by_profile(tools, profile, required)}
    sizes = {}
    for name in PROFILES:
        remaining = filter_by_profile(tools, name, required)
        if {tool.name for tool in remaining} < current:
            sizes[name] = sum(tool.tokens for tool in remaining)
    return sorted(sizes, key=lambda name: (-sizes[name], name))
