"""Filters of agents as conditions on rows: the grammar of mem0, and our own fields.

`{"user_id": "ann", "OR": [{"kind": "fact"}, {"importance": {"gte": 0.8}}], "NOT": {"tags": "old"}}`

All keys of an object must match. AND and OR take lists; NOT takes an object, or a list of which
none may match. Values are compared for equality, unless given as `{operator: value}`; `"*"` matches
any value. A filter may also select the owner: see `extract_owner_ids`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import reduce
from operator import and_, or_
from typing import Any
from uuid import UUID

from django.db.models import F, Func, Q, TextField, Value
from django.db.models.functions import Coalesce
from django.db.models.lookups import Contains, IContains
from django.utils import timezone
from django.utils.dateparse import parse_date, parse_datetime

from kmapp.errors import Invalid
from memory.models.entries import OWNER_IDS

MAX_DEPTH = 5
MAX_CONDITIONS = 50
MAX_VALUES = 500  # of one `in`
MAX_VALUE_LENGTH = 2_000  # characters of a value
ANY_VALUE = "*"
LOGICAL_OPERATORS = ("AND", "OR", "NOT")


def parse_filter(filters: Mapping[str, Any]) -> Q:
    """Parse a filter into a condition. Raise Invalid for unknown fields and operators."""
    return _FilterParser().parse_group(filters, "filters", 1)


def extract_owner_ids(filters: Mapping[str, Any]) -> dict[str, str]:
    """Return the ids that a filter requires of all rows.

    These are equality conditions at the top level or in a top-level AND. Invalid filters are
    reported by `parse_filter`.
    """
    owner_ids: dict[str, str] = {}
    and_part = filters.get("AND")
    for part in (filters, *(and_part if isinstance(and_part, list) else ())):
        for name, clause in part.items() if isinstance(part, Mapping) else ():
            field, value = FILTER_FIELDS.get(name), dict(_list_operations(clause)).get("eq")
            if not (field and field.column in OWNER_IDS and isinstance(value, str)):
                continue
            if (owner := value.strip()) not in ("", ANY_VALUE):
                owner_ids.setdefault(field.column, owner)
    return owner_ids


class _FilterParser:
    """Parser of one filter, which counts its conditions."""

    def __init__(self) -> None:
        self.remaining = MAX_CONDITIONS

    def parse_group(self, clause: Any, path: str, depth: int) -> Q:
        if not isinstance(clause, Mapping):
            raise _build_refusal(path, "must be an object")
        if depth > MAX_DEPTH:
            raise _build_refusal(path, f"is nested more than {MAX_DEPTH} deep")
        condition = Q()
        for name, value in clause.items():
            clause_path = f"{path}.{name}"
            if name in LOGICAL_OPERATORS:
                condition &= self._parse_list(name, value, clause_path, depth)
            else:
                condition &= self._parse_field(name, value, clause_path)
        # Django ignores an empty condition inside another one, instead of taking it for true.
        return condition if condition or depth == 1 else Q(pk__isnull=False)

    def _parse_list(self, name: str, clause: Any, path: str, depth: int) -> Q:
        if isinstance(clause, Mapping) and name == "NOT":
            clause = [clause]
        if not isinstance(clause, list) or not clause:
            raise _build_refusal(path, "must be a list of at least one object")
        parts = [
            self.parse_group(each, f"{path}.{number}", depth + 1)
            for number, each in enumerate(clause)
        ]
        condition = reduce(and_ if name == "AND" else or_, parts)
        return ~condition if name == "NOT" else condition

    def _parse_field(self, name: str, clause: Any, path: str) -> Q:
        field = FILTER_FIELDS.get(name)
        if field is None:
            raise _build_refusal(path, _describe_unknown(name))
        if field.kind == "json":
            return self._parse_metadata(clause, path)
        condition = Q()
        for operator, value in _list_operations(clause):
            self._count_condition(path)
            condition &= field.build_condition(operator, value, path)
        return condition

    def _parse_metadata(self, clause: Any, path: str) -> Q:
        if not isinstance(clause, Mapping):
            raise _build_refusal(path, "must be an object")
        condition = Q()
        for key, operations in clause.items():
            for operator, value in _list_operations(operations):
                self._count_condition(path)
                condition &= _build_json_condition(str(key), operator, value, f"{path}.{key}")
        return condition

    def _count_condition(self, path: str) -> None:
        self.remaining -= 1
        if self.remaining < 0:
            raise _build_refusal(path, f"exceeds the limit of {MAX_CONDITIONS} conditions")


def _describe_unknown(name: str) -> str:
    first, _, key = name.partition(".")
    if key and first in FILTER_FIELDS and FILTER_FIELDS[first].kind == "json":
        return f'is not a filterable field; send {{"{first}": {{"{key}": …}}}}'
    return f"is not a filterable field; use one of {', '.join(sorted(FILTER_FIELDS))}"


def _list_operations(clause: Any) -> list[tuple[str, Any]]:
    """Return the operations on a field; a plain value means equality."""
    if isinstance(clause, Mapping) and clause and OPERATORS.issuperset(clause):
        return list(clause.items())
    return [("in" if isinstance(clause, list) else "eq", clause)]


OPERATORS = {"eq", "ne", "in", "gt", "gte", "lt", "lte", "contains", "icontains"}
_ORDER_OPERATORS = {"gt", "gte", "lt", "lte"}
_EQUALITY_OPERATORS = {"eq", "ne", "in"}
_TEXT_OPERATORS = {"contains", "icontains"}


def _build_refusal(path: str, message: str) -> Invalid:
    return Invalid(f"{path}: {message}", issues=[{"path": path, "message": message}])


def _parse_string(value: Any) -> str:
    if not isinstance(value, str) or len(value) > MAX_VALUE_LENGTH:
        raise ValueError("must be a string")
    return value


def _parse_number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("must be a number")
    return float(value)


def _parse_boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("must be true or false")
    return value


def _parse_time(value: Any) -> datetime:
    text = _parse_string(value)
    moment = parse_datetime(text)
    if moment is None and (day := parse_date(text)):
        moment = datetime(day.year, day.month, day.day)  # noqa: DTZ001 - in UTC, see below
    if moment is None:
        raise ValueError("must be a time, for example 2026-01-31T12:00:00Z")
    if not timezone.is_aware(moment):
        return moment.replace(tzinfo=UTC)
    try:
        return moment.astimezone(UTC)  # because the database refuses some offsets, such as +20:00
    except OverflowError as error:
        raise ValueError("must be in the years 1 to 9999") from error


def _parse_id(value: Any) -> UUID:
    return UUID(_parse_string(value))


_PARSERS: Mapping[str, Callable[[Any], Any]] = {
    "text": _parse_string,
    "list": _parse_string,
    "number": _parse_number,
    "flag": _parse_boolean,
    "time": _parse_time,
    "id": _parse_id,
}
_EMPTY_VALUES: Mapping[str, Any] = {"list": [], "text": ""}  # other kinds are null
OPERATORS_BY_KIND: Mapping[str, set[str]] = {
    "text": _EQUALITY_OPERATORS | _TEXT_OPERATORS,
    "list": _EQUALITY_OPERATORS | {"contains"},
    "number": _EQUALITY_OPERATORS | _ORDER_OPERATORS,
    "flag": {"eq", "ne"},
    "time": _EQUALITY_OPERATORS | _ORDER_OPERATORS,
    "id": _EQUALITY_OPERATORS,
}


@dataclass(frozen=True, slots=True)
class FilterField:
    """A column that may be filtered by."""

    column: str
    kind: str
    is_nullable: bool = False  # a text without a value is null, as in all kinds but text and list

    def build_condition(self, operator: str, value: Any, path: str) -> Q:
        if operator not in OPERATORS_BY_KIND[self.kind]:
            raise _build_refusal(path, f"does not support the operator {operator}")
        if operator in ("eq", "ne") and (value is None or value == ANY_VALUE):
            empty = None if self.is_nullable else _EMPTY_VALUES.get(self.kind)
            has_value = ~Q(**{self.column: empty})
            return has_value if (value is None) == (operator == "ne") else ~has_value
        if operator == "in":
            return self._build_membership(value, path)
        return self._build_comparison(operator, self._parse_value(value, path))

    def _build_comparison(self, operator: str, value: Any) -> Q:
        if self.kind == "list":
            match = Q(**{f"{self.column}__contains": [value]})
        elif operator in ("eq", "ne"):
            match = Q(**{self.column: value})
        else:
            match = Q(**{f"{self.column}__{operator}": value})
        return ~match if operator == "ne" else match

    def _build_membership(self, values: Any, path: str) -> Q:
        if not isinstance(values, list) or len(values) > MAX_VALUES:
            raise _build_refusal(path, f"must be a list of at most {MAX_VALUES} values")
        expected = [self._parse_value(each, path) for each in values]
        lookup = "overlap" if self.kind == "list" else "in"
        return Q(**{f"{self.column}__{lookup}": expected})

    def _parse_value(self, value: Any, path: str) -> Any:
        try:
            parsed = _PARSERS[self.kind](value)
            # Owners are stored without surrounding spaces. A text of spaces is not stripped, since
            # an empty text selects rows without an owner.
            return parsed.strip() or parsed if self.column in OWNER_IDS else parsed
        except (ValueError, OverflowError) as error:
            raise _build_refusal(path, str(error)) from error


def _build_json_condition(key: str, operator: str, value: Any, path: str) -> Q:
    """Compare scalars and whole values for equality; `contains` matches part of a text or list."""
    if value == ANY_VALUE and operator in ("eq", "ne"):
        has_key = Q(slots__has_key=key)
        return has_key if operator == "eq" else ~has_key
    if operator in ("eq", "ne"):
        is_equal = Q(slots__contains={key: value})
        return ~is_equal if operator == "ne" else is_equal
    if (
        operator not in _TEXT_OPERATORS
        or not isinstance(value, str)
        or len(value) > MAX_VALUE_LENGTH
    ):
        raise _build_refusal(
            path, "metadata is compared by eq, ne and contains, the latter with a text"
        )
    # Not by KeyTextTransform, which takes a key of digits for a position in a list.
    function = "jsonb_extract_path_text"
    text = Func(F("slots"), Value(key), function=function, output_field=TextField())
    lookup = Contains if operator == "contains" else IContains
    # Without the key, the comparison is null, and so would be its negation by NOT.
    return Q(Coalesce(lookup(text, Value(value)), Value(value=False)))


FILTER_FIELDS: Mapping[str, FilterField] = {
    **{
        name: FilterField(name, "text")
        for name in (*OWNER_IDS, "scope", "kind", "visibility", "tier", "title")
    },
    "client_id": FilterField("client_id", "text", is_nullable=True),
    **{name: FilterField(name, "time") for name in ("created_at", "updated_at", "observed_at")},
    **{name: FilterField(name, "time") for name in ("expires_at", "valid_from", "valid_to")},
    **{name: FilterField(name, "number") for name in ("importance", "confidence", "salience")},
    **{name: FilterField(name, "list") for name in ("tags", "entities")},
    "pinned": FilterField("pinned", "flag"),
    "id": FilterField("id", "id"),
    "memory_ids": FilterField("id", "id"),
    "type": FilterField("kind", "text"),
    "session_id": FilterField("run_id", "text"),
    "conversation_id": FilterField("run_id", "text"),
    "text": FilterField("content", "text"),
    "keywords": FilterField("content", "text"),
    "keywords_search": FilterField("content", "text"),
    "categories": FilterField("tags", "list"),
    "timestamp": FilterField("observed_at", "time"),
    "expiration_date": FilterField("expires_at", "time"),
    "metadata": FilterField("slots", "json"),
}
