"""Rendering of a rule as text: its condition and its effect."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from kmapp.web.diff import BoundedSequenceMatcher
from rules.editing.rule_input import NewRule
from rules.evaluation.conditions import is_operator
from rules.models import Rule

MAX_DEPTH = 3  # deeper conditions are rendered as JSON

OPERATOR_LABELS: Mapping[str, str | Promise] = {
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
COMBINATION_LABELS: Mapping[str, str | Promise] = {
    "$and": _("all of the following match"),
    "$or": _("any of the following matches"),
    "$not": _("the following does not match"),
}
CONFLICT_LABELS: Mapping[str, str | Promise] = {
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
class ConditionLine:
    """One line of a condition; `depth` is its nesting."""

    depth: int
    path: str
    label: str | Promise
    value: str = ""


@dataclass(frozen=True, slots=True)
class Effect:
    """One effect of a matching rule."""

    icon: str
    label: str | Promise
    names: tuple[str, ...]

    @property
    def text(self) -> str:
        return ", ".join(self.names)


def render_rule(rule: Rule | NewRule) -> dict[str, Any]:
    """Return the condition, the exceptions and the effects of a rule for a page."""
    return {
        "lines": render_condition(rule.when),
        "exceptions": [render_condition(one) for one in rule.exceptions],
        "effects": render_effects(rule.then),
    }


def render_condition(condition: Any) -> list[ConditionLine]:
    return list(_render_object(condition, "", 0)) if isinstance(condition, Mapping) else []


def _render_object(
    condition: Mapping[str, Any], prefix: str, depth: int
) -> Iterator[ConditionLine]:
    for key, expected in condition.items():
        if is_operator(key):
            yield from _render_operator(key, expected, prefix, depth)
        else:
            yield from _render_path(f"{prefix}.{key}" if prefix else key, expected, depth)


def _render_path(path: str, expected: Any, depth: int) -> Iterator[ConditionLine]:
    if isinstance(expected, Mapping) and expected and depth < MAX_DEPTH:
        yield from _render_object(expected, path, depth)
    elif isinstance(expected, list):
        yield ConditionLine(depth, path, _("contains all of"), format_value(expected))
    else:
        yield ConditionLine(depth, path, _("is"), format_value(expected))


def _render_operator(name: str, expected: Any, path: str, depth: int) -> Iterator[ConditionLine]:
    if name in COMBINATION_LABELS and depth < MAX_DEPTH:
        yield ConditionLine(depth, path, COMBINATION_LABELS[name])
        for one in expected if isinstance(expected, list) else [expected]:
            yield from _render_nested(one, path, depth + 1)
    elif name == "$exists":
        yield ConditionLine(depth, path, _("exists") if expected else _("does not exist"))
    else:
        yield ConditionLine(depth, path, OPERATOR_LABELS.get(name, name), format_value(expected))


def _render_nested(one: Any, path: str, depth: int) -> Iterator[ConditionLine]:
    """Yield one of several conditions; one with several keys is grouped."""
    if not isinstance(one, Mapping):
        yield from _render_path(path, one, depth)
    elif len(one) == 1:
        yield from _render_object(one, path, depth)
    else:
        yield ConditionLine(depth, path, COMBINATION_LABELS["$and"])
        yield from _render_object(one, path, depth + 1)


def render_effects(then: Any) -> list[Effect]:
    """Return the effects of a rule, tools first."""
    if not isinstance(then, Mapping):
        return []
    tools = _get_part(then, "tool")
    output, extensions = (
        tuple(f"{name} = {format_value(value)}" for name, value in _get_part(then, part).items())
        for part in ("output", "extensions")
    )
    lines = [
        Effect("ban", _("denies"), _format_names(tools.get("deny"))),
        Effect("list-checks", _("allows only"), _format_names(tools.get("allow"))),
        Effect("star", _("prefers"), _format_names(tools.get("prefer"))),
        Effect("file-text", _("sets output"), output),
        Effect("package", _("sets"), extensions),
    ]
    empty = isinstance(tools.get("allow"), list) and not tools["allow"]
    return [one for one in lines if one.names or (empty and one.icon == "list-checks")]


@dataclass(frozen=True, slots=True)
class PartLine:
    """One line of a part of a rule, with its nesting."""

    part: str
    depth: int
    text: str


def _render_parts(effect: Mapping[str, Any]) -> list[list[PartLine]]:
    """Return a sealed rule's effects, part by part and line by line."""
    if_, unless = gettext("If"), gettext("Unless")
    audience, audience_id = str(Rule.Audience(effect["audience"]).label), effect["audience_id"]
    return [
        _render_condition_part(if_, effect["if"]) or [PartLine(if_, 0, gettext("Always"))],
        [line for one in effect["exceptions"] for line in _render_condition_part(unless, one)],
        [
            PartLine(gettext("Then"), 0, f"{one.label} {one.text}")
            for one in render_effects(effect["then"])
        ],
        [PartLine(gettext("For"), 0, f"{audience}: {audience_id}" if audience_id else audience)],
        [PartLine(gettext("Priority"), 0, str(effect["priority"]))],
        [PartLine(gettext("Weight"), 0, str(effect["weight"]))],
    ]


def _render_condition_part(part: str, condition: Any) -> list[PartLine]:
    return [
        PartLine(part, line.depth, " ".join(filter(None, (line.path, str(line.label), line.value))))
        for line in render_condition(condition)
    ]


def compare_rules(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[tuple[str, PartLine]]:
    """Return the lines of both, marked as "del" or "ins", or "" if they are equal."""
    parts = zip(_render_parts(old), _render_parts(new), strict=True)
    return [line for before, after in parts for line in _compare_lines(before, after)]


def _compare_lines(
    old: Sequence[PartLine], new: Sequence[PartLine]
) -> Iterator[tuple[str, PartLine]]:
    before, after = ([f"{line.depth} {line.text}" for line in lines] for lines in (old, new))
    matcher = BoundedSequenceMatcher(a=before, b=after, autojunk=False)
    for operation, first, last, begin, end in matcher.get_opcodes():
        if operation == "equal":
            yield from (("", line) for line in new[begin:end])
        else:
            yield from (("del", line) for line in old[first:last])
            yield from (("ins", line) for line in new[begin:end])


def _get_part(then: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = then.get(name)
    return part if isinstance(part, Mapping) else {}


def _format_names(effect: Any) -> tuple[str, ...]:
    return tuple(map(str, effect)) if isinstance(effect, list) else ()


def format_value(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def format_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)
