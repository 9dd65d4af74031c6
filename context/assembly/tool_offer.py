"""The tools that a call offers: made strict, sorted into groups, narrowed to a profile. Pure."""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from context.archives.placeholders import TOOL
from context.assembly.strict_schemas import normalised
from context.assembly.token_counts import compact
from kmapp.text import tokens

PROFILES: Mapping[str, frozenset[str] | None] = {
    "minimal": frozenset({"memory"}),
    "coding": frozenset({"memory", "fs", "devtools"}),
    "web": frozenset({"memory", "web"}),
    "full": None,  # all of them
}
GROUPS = ("memory", "fs", "devtools", "web", "other")
# What a name says of a tool; a client that knows better says so.
_WORDS = {
    "memory": "memory memories knowledge recall remember history",
    "web": "web http https url browser browse fetch crawl scrape google bing",
    "fs": "file files dir directory folder path glob grep ls read write edit patch",
    "devtools": "bash shell exec run git python node test tests lint build debug docker sql",
}
_GROUP_OF = {word: group for group, words in _WORDS.items() for word in words.split()}
_PIECES = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered:
    """One tool as the model is given it."""

    name: str
    group: str
    schema: Mapping[str, Any]
    tokens: int
    strict: bool
    obstacles: tuple[str, ...]  # why it is not strict


def offered(
    tools: Sequence[Mapping[str, Any]], groups: Mapping[str, str], *, strict: bool
) -> list[Offered]:
    """Every tool in its strict form, as far as it has one."""
    return [_offered(_text(tool), groups.get(name_of(tool), ""), strict) for tool in tools]


def _text(tool: Mapping[str, Any]) -> str:
    """In the order in which its properties came: models answer in it."""
    return json.dumps(tool, ensure_ascii=False)


def name_of(tool: Mapping[str, Any]) -> str:
    """OpenAI's functions, Anthropic's tools, and tools of a provider's own."""
    function = tool.get("function")
    said = function.get("name") if isinstance(function, Mapping) else None
    return str(said or tool.get("name") or tool.get("type") or "tool")


@lru_cache(maxsize=20_000)
def _offered(text: str, group: str, strict: bool) -> Offered:  # noqa: FBT001 - cached by place
    """Of its text, because a schema is the same in most calls, and making it strict takes time."""
    tool = json.loads(text)
    made, is_strict, obstacles = _strict(tool) if strict else (tool, False, ())
    name = name_of(tool)
    return Offered(
        name=name,
        group=group or group_of(name),
        schema=made,
        tokens=tokens.count(compact(made)),
        strict=is_strict,
        obstacles=obstacles,
    )


def _strict(tool: dict[str, Any]) -> tuple[dict[str, Any], bool, tuple[str, ...]]:
    function = tool.get("function")
    if isinstance(function, dict) and isinstance(function.get("parameters"), dict):
        done = normalised(function["parameters"])
        made = {**function, "parameters": done.schema, "strict": done.strict}
        return {**tool, "function": made}, done.strict, done.obstacles
    if isinstance(tool.get("input_schema"), dict):
        done = normalised(tool["input_schema"])
        return {**tool, "input_schema": done.schema}, done.strict, done.obstacles
    return tool, False, ("a tool of the provider's own",)


def group_of(name: str) -> str:
    if name == TOOL:
        return "memory"
    words = [piece.lower() for piece in _PIECES.findall(name)]
    return next((_GROUP_OF[word] for word in words if word in _GROUP_OF), "other")


def within(tools: Sequence[Offered], profile: str, kept: Collection[str]) -> list[Offered]:
    """The tools of a profile, and those that are needed whatever the profile."""
    groups = PROFILES[profile]
    if groups is None:
        return list(tools)
    return [tool for tool in tools if tool.group in groups or tool.name in kept]


def narrower(tools: Sequence[Offered], profile: str, kept: Collection[str]) -> list[str]:
    """Profiles that leave fewer tools than this one, those that leave most tokens first."""
    mine = {tool.name for tool in within(tools, profile, kept)}
    sizes = {}
    for name in PROFILES:
        left = within(tools, name, kept)
        if {tool.name for tool in left} < mine:
            sizes[name] = sum(tool.tokens for tool in left)
    return sorted(sizes, key=lambda name: (-sizes[name], name))
