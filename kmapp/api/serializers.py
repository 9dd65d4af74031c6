"""Shared parts of request serializers: strict JSON types and aliases of other clients."""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC
from typing import Any, ClassVar

from django.http import QueryDict
from django.utils import timezone
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail, ValidationError

from kmapp.api.similar_names import find_nearest

ANYWHERE = frozenset({"account_id", "tenant_id"})  # every request may name its account


INTEGER = re.compile(r"-?(0|[1-9][0-9]*)")  # the only spelling of an integer in a query
MAX_ID_LENGTH = 200


class OptionalText(serializers.CharField):
    """A text that may be omitted, empty or null; by default an ID chosen by the client."""

    def __init__(self, max_length: int = MAX_ID_LENGTH, **kwargs: Any) -> None:
        super().__init__(
            max_length=max_length, required=False, allow_blank=True, allow_null=True, **kwargs
        )


IdField = OptionalText


class OneOrMore(serializers.ListField):
    """A list; a single value is read as a list with one item."""

    def to_internal_value(self, data: Any) -> list[Any]:
        return super().to_internal_value([data] if isinstance(data, str) else data)


def alias_help(name: str) -> dict[str, Any]:
    """Return the JSON Schema of a body with a value under this name; null and "" are no values."""
    documented = {
        "type": ["string", "array", "object"],
        "pattern": r"\S",
        "minItems": 1,
        "minProperties": 1,
    }
    return {"required": [name], "properties": {name: documented}}


def present(name: str) -> dict[str, Any]:
    """Return the JSON Schema of a body with this field; an empty string is a value."""
    return {"required": [name], "properties": {name: {"not": {"type": "null"}}}}


def any_of(*names: str) -> dict[str, Any]:
    """Return the schema, for `together`, of bodies with at least one of these fields."""
    return {"anyOf": [alias_help(name) for name in names]}


def one_of(*names: str) -> dict[str, Any]:
    """Return the schema, for `together`, of bodies with exactly one of these fields."""
    return {"oneOf": [{"required": [name]} for name in names]}


TEXTS = (
    serializers.CharField,
    serializers.ChoiceField,
    serializers.DateTimeField,
    serializers.UUIDField,
)


class Typed(serializers.Serializer[Any]):
    """Serializer without type conversion: 5 is no text, "5" is no number and "yes" is not true.

    DRF would convert such values, which hides mistakes of clients. In a query string every value is
    text and is converted. `together` declares relations between fields as JSON Schema, for OpenAPI.
    `shorthand` names the field that a text in place of the object sets.
    """

    together: ClassVar[Mapping[str, Any]] = {}
    shorthand: ClassVar[str] = ""
    other_names: ClassVar[Iterable[str]] = ()  # that `to_internal_value` reads besides the fields

    def find_other_reader(self, data: Mapping[str, Any]) -> serializers.Serializer[Any] | None:
        """Return the serializer that reads the fields of `data` in place of this one, if any."""
        return None

    def to_internal_value(self, data: Any) -> Any:
        if self.shorthand and isinstance(data, str):
            data = {self.shorthand: data}
        if isinstance(data, Mapping):
            check = _find_query_error if isinstance(data, QueryDict) else _find_mismatch
            wrong: dict[Any, Any] = {
                name: issue
                for name, field in self.fields.items()
                if (value := data.get(name)) is not None and (issue := check(field, value))
            }
            if wrong:
                raise ValidationError(wrong)
        return self._convert(data)

    def _convert(self, data: Any) -> Any:
        """Convert all fields; DRF counts the characters of a text after it removes spaces."""
        too_long: dict[Any, Any] = {}
        if isinstance(data, Mapping):
            too_long = {
                name: issue
                for name, value in data.items()
                if name in self.fields and (issue := _find_long_texts(self.fields[name], value))
            }
        try:
            with timezone.override(UTC):  # of times without a zone
                values = super().to_internal_value(data)
        except ValidationError as error:
            issues: Mapping[Any, Any] = error.detail  # type: ignore[assignment]
            named = {name: _name_choices(self.fields.get(name), issues[name]) for name in issues}
            raise ValidationError({**too_long, **named}) from error
        if too_long:
            raise ValidationError(too_long)
        return values


def _name_choices(field: Any, issues: Any) -> Any:
    """Return the issues of a field; those with an invalid choice also list the valid ones."""
    if isinstance(issues, dict):
        child = getattr(field, "child", None)
        return {at: _name_choices(child, each) for at, each in issues.items()}
    if not isinstance(field, serializers.ChoiceField):
        return issues
    choices = f"Use one of {', '.join(map(str, field.choices))}."
    return [
        ErrorDetail(f"{issue} {choices}", issue.code) if issue.code == "invalid_choice" else issue
        for issue in issues
    ]


def _find_query_error(field: Any, value: Any) -> list[str]:
    """Return the error for a query parameter that DRF would treat as missing or as a number."""
    if value == "" and not getattr(field, "allow_blank", False):
        return ["This field may not be empty. Send a value or omit the field."]
    if isinstance(field, serializers.IntegerField) and not INTEGER.fullmatch(value):
        return [str(field.error_messages["invalid"])]
    return []


def _find_long_texts(field: Any, value: Any) -> list[str] | dict[int | str, Any]:
    """Return the error for each text of a field that is too long as the client sent it."""
    if isinstance(value, str) and isinstance(field, OneOrMore):
        value = [value]
    if isinstance(value, list | dict):
        child = getattr(field, "child", None)
        if child is None:
            return []
        items = value.items() if isinstance(value, dict) else enumerate(value)
        return {at: issue for at, each in items if (issue := _find_long_texts(child, each))}
    limit = getattr(field, "max_length", None)
    if not isinstance(field, serializers.CharField) or limit is None or not isinstance(value, str):
        return []
    if len(value) <= limit:
        return []
    return [field.error_messages["max_length"].format(max_length=limit)]


def _find_mismatch(field: Any, value: Any) -> list[str] | dict[int | str, Any]:
    """Return the problem with a value's type. DRF checks whether it may be null."""
    if isinstance(value, list) and isinstance(field, serializers.ListField):
        return _find_mismatches(field.child, enumerate(value))
    if isinstance(value, dict) and isinstance(field, serializers.DictField):
        return _find_mismatches(field.child, value.items())
    word = "" if value is None else _find_expected_type(field, value)
    return [f"Not {word}."] if word else []


def _find_mismatches(child: Any, items: Iterable[tuple[int | str, Any]]) -> dict[int | str, Any]:
    return {at: issue for at, value in items if (issue := _find_mismatch(child, value))}


def _find_expected_type(field: Any, value: Any) -> str:
    """Return the expected type that the value does not have, or an empty string."""
    if isinstance(field, serializers.BooleanField):
        return "" if isinstance(value, bool) else "true or false"
    if isinstance(field, serializers.IntegerField | serializers.FloatField):
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return "" if is_number else "a number"
    return "a text" if isinstance(field, TEXTS) and not isinstance(value, str) else ""


class Aliases(Typed):
    """Accept other names for fields. Our own name has priority; errors use the client's name."""

    aliases: ClassVar[Mapping[str, str]] = {
        "content": "text",
        "text_summary": "text",
        "type": "kind",
        "slots": "metadata",
        "session_id": "run_id",
        "conversation_id": "run_id",
    }

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, Mapping):
            return super().to_internal_value(data)
        used = self._find_aliases(data)
        try:
            return super().to_internal_value(self._remove_nulls(_rename_fields(data, used)))
        except ValidationError as error:
            if not isinstance(error.detail, dict):
                raise
            theirs = {ours: alias for alias, ours in used.items()}
            raise ValidationError(
                {theirs.get(name, name): detail for name, detail in error.detail.items()}
            ) from None

    def _remove_nulls(self, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """Remove nulls of optional fields: models in strict mode send every argument."""
        if isinstance(data, QueryDict):
            return data
        left_out = {
            name
            for name, field in self.fields.items()
            if data.get(name, field) is None and not field.required and not field.allow_null
        }
        return {name: value for name, value in data.items() if name not in left_out}

    def _find_aliases(self, data: Mapping[str, Any]) -> dict[str, str]:
        """Return the aliases that `data` uses for fields that it does not name."""
        used: dict[str, str] = {}
        for alias, ours in self.aliases.items():
            if alias in self.fields or ours not in self.fields or ours in used.values():
                continue
            if data.get(alias) is not None and data.get(ours) is None:
                used[alias] = ours
        return used


def list_accepted_names(serializer: serializers.Serializer[Any]) -> set[str]:
    """Return the names of the fields of a serializer, and all other names that it reads."""
    aliases = getattr(serializer, "aliases", {})
    others = getattr(serializer, "other_names", ())
    own = {alias for alias, field in aliases.items() if field in serializer.fields}
    return {*serializer.fields, *own, *others}


def describe_unknown(nearest: str | None) -> str:
    """Return the message of an unknown field, with the name that the client may have meant."""
    return f"Unknown field. Did you mean {nearest}?" if nearest else "Unknown field."


class Exact(Aliases):
    """Refuse unknown fields: a misspelt condition would select too much."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, Mapping):
            accepted = list_accepted_names(self) | ANYWHERE
            if unknown := sorted({str(name) for name in data} - accepted):
                raise ValidationError(
                    {name: describe_unknown(find_nearest(name, self.fields)) for name in unknown}
                )
        return super().to_internal_value(data)


def _rename_fields(data: Mapping[str, Any], used: Mapping[str, str]) -> Mapping[str, Any]:
    if isinstance(data, QueryDict):
        query = data.copy()
        for alias, ours in used.items():
            query.setlist(ours, query.getlist(alias))
        return query
    return {**data, **{ours: data[alias] for alias, ours in used.items()}}
