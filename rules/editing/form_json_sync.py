"""Synchronization of a rule's form with its JSON. Pure.

The form displays a part of a rule only if it can represent all of it. Other parts are edited as
JSON, and the form preserves them.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kmapp.api.strict_json import RefusedJSON, parse

Json = dict[str, Any]
IS, ALL = "is", "all"  # an equal value; a list whose items must be contained
OPERATORS = (
    *(IS, "$ne", "$in", "$nin", "$gt", "$gte", "$lt", "$lte"),
    *("$contains", ALL, "$exists", "$regex"),
)
LISTS = frozenset({"$in", "$nin", ALL})
TOOL_LISTS = frozenset({"deny", "allow", "prefer"})
FORMATS = ("json", "text", "markdown")
MAX_ROWS = 50  # of a condition that the form displays: a request has at most 1,000 fields
EMPTY: Json = {"if": {}, "then": {}, "exceptions": []}
SEPARATOR = re.compile(r"[,，\n]")


class InvalidRow(ValueError):
    """An invalid row: `part` is the part of the rule, `reason` the code of its error."""

    def __init__(self, part: str, reason: str) -> None:
        super().__init__(reason)
        self.part, self.reason = part, reason


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a condition."""

    path: str
    operator: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """The fields of the form; None for a part that the form cannot represent."""

    when: tuple[Row, ...] | None = ()
    unless: tuple[Row, ...] | None = ()
    tools: Mapping[str, str] | None = field(default_factory=dict)
    format: str | None = ""


def is_same_json(left: Any, right: Any) -> bool:
    return json.dumps(left, sort_keys=True) == json.dumps(right, sort_keys=True)


# --- From JSON to the form ------------------------------------------------------------------------


def build_form(rule: Mapping[str, Any]) -> Form:
    exceptions = rule.get("exceptions", [])
    one = exceptions[0] if isinstance(exceptions, list) and len(exceptions) == 1 else {}
    return Form(
        when=_build_rows(rule.get("if", {})),
        unless=_build_rows(one) if is_same_json(exceptions, [one] if one else []) else None,
        tools=_build_tools(rule.get("then", {})),
        format=_get_format(rule.get("then", {})),
    )


def _build_rows(condition: Any) -> tuple[Row, ...] | None:
    if not isinstance(condition, Mapping):
        return None
    rows = tuple(_list_rows(condition))
    if len(rows) > MAX_ROWS:
        return None
    if any(row.operator not in OPERATORS or not _is_field_path(row.path) for row in rows):
        return None
    try:
        return rows if is_same_json(build_condition(rows), condition) else None
    except InvalidRow:
        return None


def _is_field_path(path: str) -> bool:
    """Return whether a form field returns this path unchanged."""
    return not path.startswith("$") and path == " ".join(path.split())


def _list_rows(condition: Mapping[str, Any]) -> Iterator[Row]:
    for path, expected in condition.items():
        if isinstance(expected, Mapping):
            for operator, operand in expected.items():
                yield Row(path, operator, format_value(operand))
        else:
            yield Row(path, ALL if isinstance(expected, list) else IS, format_value(expected))


def _build_tools(then: Any) -> dict[str, str] | None:
    tools = then.get("tool", {}) if isinstance(then, Mapping) else None
    if not isinstance(tools, Mapping) or not tools.keys() <= TOOL_LISTS:
        return None
    if not all(isinstance(names, list) and all(map(_is_name, names)) for names in tools.values()):
        return None
    displayed = {list_name: ", ".join(names) for list_name, names in tools.items()}
    return displayed if is_same_json(_parse_tools(tools, displayed), dict(tools)) else None


def _is_name(name: Any) -> bool:
    return isinstance(name, str) and name == name.strip() != "" and not SEPARATOR.search(name)


def _get_format(then: Any) -> str | None:
    output = then.get("output", {}) if isinstance(then, Mapping) else None
    if not isinstance(output, Mapping) or output.get("format", "") not in ("", *FORMATS):
        return None
    return str(output.get("format", ""))


def format_value(value: Any) -> str:
    """Return a value as text for a form field, unambiguous to parse back."""
    if isinstance(value, str) and value == value.strip() != "" and len(value.splitlines()) == 1:
        return value if parse_value(value) == value else json.dumps(value, ensure_ascii=False)
    return json.dumps(value, ensure_ascii=False)


def parse_value(text: str) -> Any:
    """Parse a form field: JSON if valid, else text."""
    try:
        parsed = parse(f'{{"value": {text}}}'.encode())
    except (RefusedJSON, UnicodeEncodeError):
        return text
    return parsed["value"] if len(parsed) == 1 else text


# --- From the form to JSON ------------------------------------------------------------------------


def build_rule(agreed: Mapping[str, Any], form: Form) -> Json:
    """Return the rule of the form; parts that it does not display are preserved."""
    rule: Json = {**EMPTY, **agreed}
    then = dict(rule["then"]) if isinstance(rule["then"], Mapping) else {}
    if form.when is not None:
        rule["if"] = _build_part("if", form.when)
    if form.unless is not None:
        unless = _build_part("exceptions", form.unless)
        rule["exceptions"] = [unless] if unless else []
    if form.tools is not None:
        then = _set_or_remove(then, "tool", _parse_tools(then.get("tool", {}), form.tools))
    if form.format is not None:
        output = then.get("output")
        other_output = dict(output) if isinstance(output, Mapping) else {}
        then = _set_or_remove(then, "output", _set_or_remove(other_output, "format", form.format))
    if form.tools is not None or form.format is not None:
        rule["then"] = then
    return rule


def _build_part(name: str, rows: Sequence[Row]) -> Json:
    try:
        return build_condition(rows)
    except InvalidRow as error:
        raise InvalidRow(name, error.reason) from error


def _set_or_remove(part: Mapping[str, Any], name: str, value: Any) -> Json:
    """Return the part with this value, or without the name if the value is empty.

    An empty object that the part already contains is preserved.
    """
    if value in ("", {}) and part.get(name) != {}:
        return {key: existing for key, existing in part.items() if key != name}
    return {**part, name: value}


def build_condition(rows: Sequence[Row]) -> Json:
    """Return the condition that requires all rows. A row without path and value is ignored."""
    condition: Json = {}
    for row in rows:
        if row.path:
            _add_row(condition, row)
        elif row.value:
            raise InvalidRow("", "no_path")
    return condition


def _add_row(condition: Json, row: Row) -> None:
    operand = _parse_operand(row)
    if row.operator in (IS, ALL):
        if row.path in condition:
            raise InvalidRow("", "repeat")
        condition[row.path] = operand
        return
    existing = condition.setdefault(row.path, {})
    if not isinstance(existing, dict) or row.operator in existing:
        raise InvalidRow("", "repeat")
    existing[row.operator] = operand


def _parse_operand(row: Row) -> Any:
    if row.operator == "$regex":
        parsed = parse_value(row.value)
        return parsed if isinstance(parsed, str) else row.value
    value = parse_value(row.value)
    if row.operator == "$exists":
        return True if row.value == "" else value
    if row.operator in LISTS and not isinstance(value, list):
        return [parse_value(each) for one in SEPARATOR.split(row.value) if (each := one.strip())]
    return value


def _parse_tools(agreed: Any, parsed: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the tool lists of the form; empty ones only if the rule has them."""
    existing = agreed if isinstance(agreed, Mapping) else {}
    names = {
        list_name: [name for one in SEPARATOR.split(text) if (name := one.strip())]
        for list_name, text in parsed.items()
    }
    return {
        list_name: tools
        for list_name, tools in names.items()
        if tools or existing.get(list_name) == []
    }
