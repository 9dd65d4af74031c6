"""Filters of agents as conditions on rows: the grammar of mem0, and our own fields.

`{"user_id": "ann", "OR": [{"kind": "fact"}, {"importance": {"gte": 0.8}}], "NOT": {"tags": "old"}}`

All keys of an object must match. AND and OR take lists; NOT takes an object, or a list of which
none may match. Values are compared for equality, unless given as `{operator: value}`; `"*"` matches
any value. A filter may also select the owner: see `fixed_ids`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from operator import and_, or_
from typing import Any
from uuid import UUID

from django.db.models import F, Q, Value
from django.db.models.fields.json import KeyTextTransform
from django.db.models.lookups import Contains, IContains
from django.utils import timezone
from django.utils.dateparse import parse_date, parse_datetime

from kmapp.errors import Invalid

DEPTH = 5
CONDITIONS = 50
VALUES = 500  # of one `in`
LONGEST = 2_000  # characters of a value
ANYTHING = "*"
LISTS = ("AND", "OR", "NOT")
IDS = ("user_id", "agent_id", "app_id", "run_id")


def condition(filters: Mapping[str, Any]) -> Q:
    """Parse a filter into a condition. Raise Invalid for unknown fields and operators."""
    return _Reader().group(filters, "filters", 1)


def fixed_ids(filters: Mapping[str, Any]) -> dict[str, str]:
    """Return the ids that a filter requires of all rows.

    These are equality conditions at the top level or in a top-level AND. Invalid filters are
    reported by `condition`.
    """
    collected: dict[str, str] = {}
    and_part = filters.get("AND")
    for part in (filters, *(and_part if isinstance(and_part, list) else ())):
        for name, clause in part.items() if isinstance(part, Mapping) else ():
            field, value = FIELDS.get(name), dict(_operations(clause)).get("eq")
            if not (field and field.column in IDS and isinstance(value, str)):
                continue
            if value not in ("", ANYTHING):
                collected.setdefault(field.column, value)
    return collected


class _Reader:
    """Parser of one filter, which counts its conditions."""

    def __init__(self) -> None:
        self.left = CONDITIONS

    def group(self, clause: Any, path: str, depth: int) -> Q:
        if not isinstance(clause, Mapping):
            raise _refusal(path, "must be an object")
        if depth > DEPTH:
            raise _refusal(path, f"is nested more than {DEPTH} deep")
        collected = Q()
        for name, value in clause.items():
            here = f"{path}.{name}"
            if name in LISTS:
                collected &= self._joined(name, value, here, depth)
            else:
                collected &= self._field(name, value, here)
        return collected

    def _joined(self, name: str, clause: Any, path: str, depth: int) -> Q:
        if isinstance(clause, Mapping) and name == "NOT":
            clause = [clause]
        if not isinstance(clause, list) or not clause:
            raise _refusal(path, "must be a list of at least one object")
        parts = [
            self.group(each, f"{path}.{number}", depth + 1) for number, each in enumerate(clause)
        ]
        whole = reduce(and_ if name == "AND" else or_, parts)
        return ~whole if name == "NOT" else whole

    def _field(self, name: str, clause: Any, path: str) -> Q:
        field = FIELDS.get(name)
        if field is None:
            raise _refusal(
                path, f"is not a filterable field; use one of {', '.join(sorted(FIELDS))}"
            )
        if field.kind == "json":
            return self._metadata(clause, path)
        collected = Q()
        for operator, value in _operations(clause):
            self._count(path)
            collected &= field.where(operator, value, path)
        return collected

    def _metadata(self, clause: Any, path: str) -> Q:
        if not isinstance(clause, Mapping):
            raise _refusal(path, "must be an object")
        collected = Q()
        for key, expected in clause.items():
            for operator, value in _operations(expected):
                self._count(path)
                collected &= _json(str(key), operator, value, f"{path}.{key}")
        return collected

    def _count(self, path: str) -> None:
        self.left -= 1
        if self.left < 0:
            raise _refusal(path, f"exceeds the limit of {CONDITIONS} conditions")


def _operations(clause: Any) -> list[tuple[str, Any]]:
    """Return the operations on a field; a plain value means equality."""
    if isinstance(clause, Mapping) and clause and OPERATORS.issuperset(clause):
        return list(clause.items())
    return [("in" if isinstance(clause, list) else "eq", clause)]


OPERATORS = {"eq", "ne", "in", "gt", "gte", "lt", "lte", "contains", "icontains"}
_ORDER = {"gt", "gte", "lt", "lte"}
_EQUAL = {"eq", "ne", "in"}
_TEXT = {"contains", "icontains"}


def _refusal(path: str, message: str) -> Invalid:
    return Invalid("This filter is not understood.", issues=[{"path": path, "message": message}])


def _string(value: Any) -> str:
    if not isinstance(value, str) or len(value) > LONGEST:
        raise ValueError("must be a string")
    return value


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("must be a number")
    return float(value)


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("must be true or false")
    return value


def _moment(value: Any) -> datetime:
    text = _string(value)
    collected = parse_datetime(text)
    if collected is None and (day := parse_date(text)):
        collected = datetime(day.year, day.month, day.day)  # noqa: DTZ001 - made aware below
    if collected is None:
        raise ValueError("must be a time, for example 2026-01-31T12:00:00Z")
    return collected if timezone.is_aware(collected) else timezone.make_aware(collected)


def _identity(value: Any) -> UUID:
    return UUID(_string(value))


_READERS: Mapping[str, Callable[[Any], Any]] = {
    "text": _string,
    "list": _string,
    "number": _number,
    "flag": _flag,
    "time": _moment,
    "id": _identity,
}
_EMPTY: Mapping[str, Any] = {"list": [], "text": ""}  # other kinds are null
_ALLOWED: Mapping[str, set[str]] = {
    "text": _EQUAL | _TEXT,
    "list": _EQUAL | {"contains"},
    "number": _EQUAL | _ORDER,
    "flag": {"eq", "ne"},
    "time": _EQUAL | _ORDER,
    "id": _EQUAL,
}


def operators_of(kind: str) -> set[str]:
    """Return the operators that fields of this kind support."""
    return _ALLOWED[kind]


@dataclass(frozen=True, slots=True)
class Field:
    """A column that may be filtered by."""

    column: str
    kind: str

    def where(self, operator: str, value: Any, path: str) -> Q:
        if operator not in _ALLOWED[self.kind]:
            raise _refusal(path, f"does not support the operator {operator}")
        if operator in ("eq", "ne") and (value is None or value == ANYTHING):
            there = ~Q(**{self.column: _EMPTY.get(self.kind)})
            return there if (value is None) == (operator == "ne") else ~there
        if operator == "in":
            return self._any_of(value, path)
        return self._one(operator, self._read(value, path))

    def _one(self, operator: str, value: Any) -> Q:
        if self.kind == "list":
            match = Q(**{f"{self.column}__contains": [value]})
        elif operator in ("eq", "ne"):
            match = Q(**{self.column: value})
        else:
            match = Q(**{f"{self.column}__{operator}": value})
        return ~match if operator == "ne" else match

    def _any_of(self, values: Any, path: str) -> Q:
        if not isinstance(values, list) or len(values) > VALUES:
            raise _refusal(path, f"must be a list of at most {VALUES} values")
        expected = [self._read(each, path) for each in values]
        lookup = "overlap" if self.kind == "list" else "in"
        return Q(**{f"{self.column}__{lookup}": expected})

    def _read(self, value: Any, path: str) -> Any:
        try:
            return _READERS[self.kind](value)
        except (ValueError, OverflowError) as error:
            raise _refusal(path, str(error)) from error


def _json(key: str, operator: str, value: Any, path: str) -> Q:
    """Compare scalars and whole values for equality; `contains` matches part of a text or list."""
    if value == ANYTHING and operator in ("eq", "ne"):
        there = Q(slots__has_key=key)
        return there if operator == "eq" else ~there
    if operator in ("eq", "ne"):
        same = Q(slots__contains={key: value})
        return ~same if operator == "ne" else same
    if operator not in _TEXT or not isinstance(value, str) or len(value) > LONGEST:
        raise _refusal(path, "metadata is compared by eq, ne and contains, the latter with a text")
    part = Contains if operator == "contains" else IContains
    return Q(part(KeyTextTransform(key, F("slots")), Value(value)))


FIELDS: Mapping[str, Field] = {
    **{name: Field(name, "text") for name in ("user_id", "agent_id", "app_id", "run_id", "scope")},
    **{name: Field(name, "text") for name in ("kind", "visibility", "tier", "title", "client_id")},
    **{name: Field(name, "time") for name in ("created_at", "updated_at", "observed_at")},
    **{name: Field(name, "time") for name in ("expires_at", "valid_from", "valid_to")},
    **{name: Field(name, "number") for name in ("importance", "confidence", "salience")},
    **{name: Field(name, "list") for name in ("tags", "entities")},
    "pinned": Field("pinned", "flag"),
    "id": Field("id", "id"),
    "memory_ids": Field("id", "id"),
    "type": Field("kind", "text"),
    "session_id": Field("run_id", "text"),
    "conversation_id": Field("run_id", "text"),
    "text": Field("content", "text"),
    "keywords": Field("content", "text"),
    "keywords_search": Field("content", "text"),
    "categories": Field("tags", "list"),
    "timestamp": Field("observed_at", "time"),
    "expiration_date": Field("expires_at", "time"),
    "metadata": Field("slots", "json"),
}
