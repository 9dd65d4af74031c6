"""Rendering of a rule as text: its condition and its effect."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _

from rules.evaluation.conditions import is_operator

DEEPEST = 3  # deeper conditions are rendered as JSON
LONGEST = 300  # characters of a value

COMPARED: Mapping[str, str | Promise] = {
    "$eq": _("is"),
    "$ne": _("is not"),
    "$in": _("is one of"),
    "$nin": _("is not one of"),
    "$gt": _("is greater than"),
    "$gte": _("is at least"),
    "$lt": _("is less than"),
    "$lte": _("is at most"),
    "$contains": _("contains"),
    "$regex": _("matches regex"),
}
JOINED: Mapping[str, str | Promise] = {
    "$and": _("all of the following match"),
    "$or": _("any of the following matches"),
    "$not": _("the following does not match"),
}
CODES: Mapping[str, str | Promise] = {
    "value_overridden": _("The rules set different values; the higher-ranked rule wins."),
    "allow_intersection_empty": _("No tool is on all allow-lists."),
    "preferred_but_denied": _(
        "One rule prefers a tool that another rule denies; the tool stays denied."
    ),
    "allowed_but_denied": _(
        "One rule allows a tool that another rule denies; the tool stays denied."
    ),
}


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a condition; `depth` is its nesting."""

    depth: int
    path: str
    words: str | Promise
    value: str = ""


@dataclass(frozen=True, slots=True)
class Effect:
    """One effect of a matching rule."""

    icon: str
    words: str | Promise
    names: tuple[str, ...]

    @property
    def text(self) -> str:
        return ", ".join(self.names)


def condition_lines(condition: Any) -> list[Line]:
    return list(_object(condition, "", 0)) if isinstance(condition, Mapping) else []


def _object(condition: Mapping[str, Any], above: str, depth: int) -> Iterator[Line]:
    for key, expected in condition.items():
        if is_operator(key):
            yield from _operator(key, expected, above, depth)
        else:
            yield from _at(f"{above}.{key}" if above else key, expected, depth)


def _at(path: str, expected: Any, depth: int) -> Iterator[Line]:
    if isinstance(expected, Mapping) and expected and depth < DEEPEST:
        yield from _object(expected, path, depth)
    elif isinstance(expected, list):
        yield Line(depth, path, _("contains all of"), as_json(expected))
    else:
        yield Line(depth, path, _("is"), as_json(expected))


def _operator(name: str, expected: Any, path: str, depth: int) -> Iterator[Line]:
    if name in JOINED and depth < DEEPEST:
        yield Line(depth, path, JOINED[name])
        for one in expected if isinstance(expected, list) else [expected]:
            yield from _joined(one, path, depth + 1)
    elif name == "$exists":
        yield Line(depth, path, _("exists") if expected else _("does not exist"))
    else:
        yield Line(depth, path, COMPARED.get(name, name), as_json(expected))


def _joined(one: Any, path: str, depth: int) -> Iterator[Line]:
    """Yield one of several conditions; one with several keys is grouped."""
    if not isinstance(one, Mapping):
        yield from _at(path, one, depth)
    elif len(one) == 1:
        yield from _object(one, path, depth)
    else:
        yield Line(depth, path, JOINED["$and"])
        yield from _object(one, path, depth + 1)


def effects(then: Any) -> list[Effect]:
    """Return the effects of a rule, tools first."""
    if not isinstance(then, Mapping):
        return []
    tools = _part(then, "tool")
    output, extensions = (
        tuple(f"{name} = {as_json(value)}" for name, value in _part(then, part).items())
        for part in ("output", "extensions")
    )
    lines = [
        Effect("ban", _("denies"), _names(tools.get("deny"))),
        Effect("list-checks", _("allows only"), _names(tools.get("allow"))),
        Effect("star", _("prefers"), _names(tools.get("prefer"))),
        Effect("file-text", _("sets output"), output),
        Effect("package", _("sets"), extensions),
    ]
    empty = isinstance(tools.get("allow"), list) and not tools["allow"]
    return [one for one in lines if one.names or (empty and one.icon == "list-checks")]


@dataclass(frozen=True, slots=True)
class EffectPart:
    """One line of a part of a rule, with its nesting."""

    part: str
    depth: int
    text: str


def describe_effects(effect: Mapping[str, Any]) -> list[list[EffectPart]]:
    """Return a sealed rule's effects, part by part and line by line."""
    if_, unless = _now("If"), _now("Unless")
    audience_name = effect["audience_id"] or _now("everyone")
    return [
        _condition(if_, effect["if"]) or [EffectPart(if_, 0, _now("Always"))],
        [line for one in effect["exceptions"] for line in _condition(unless, one)],
        [EffectPart(_now("Then"), 0, f"{one.words} {one.text}") for one in effects(effect["then"])],
        [EffectPart(_now("For"), 0, audience_name)],
        [EffectPart(_now("Priority"), 0, str(effect["priority"]))],
        [EffectPart(_now("Weight"), 0, str(effect["weight"]))],
    ]


def _condition(part: str, condition: Any) -> list[EffectPart]:
    return [
        EffectPart(
            part, line.depth, " ".join(filter(None, (line.path, str(line.words), line.value)))
        )
        for line in condition_lines(condition)
    ]


def compared(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[tuple[str, EffectPart]]:
    """Return the lines of both, marked as "del" or "ins", or "" if they are equal."""
    parts = zip(describe_effects(old), describe_effects(new), strict=True)
    return [line for before, after in parts for line in _lines(before, after)]


def _lines(
    old: Sequence[EffectPart], new: Sequence[EffectPart]
) -> Iterator[tuple[str, EffectPart]]:
    matcher = SequenceMatcher(a=old, b=new, autojunk=False)
    for operation, first, last, begin, end in matcher.get_opcodes():
        if operation == "equal":
            yield from (("", line) for line in new[begin:end])
        else:
            yield from (("del", line) for line in old[first:last])
            yield from (("ins", line) for line in new[begin:end])


def _part(then: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = then.get(name)
    return part if isinstance(part, Mapping) else {}


def _names(effect: Any) -> tuple[str, ...]:
    return tuple(map(str, effect)) if isinstance(effect, list) else ()


def as_json(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def pretty(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)
