"""Export format: one JSON object per line.

It contains all texts and decisions. It omits derived data (vectors, postings and derived edges)
and data of one ledger (commits, and the position of entries in them, which is the line order).
"""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID, uuid5

from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import ValidationError
from django.db import models
from django.utils import timezone

from kmapp.ledger.canonical import Unstorable, check_storable, encode_canonical
from memory.models import MemoryEdge, MemoryEntry
from memory.models.entry_input import infer_visibility

FORMAT_VERSION = 1
HEADER = {"object": "memories", "format": FORMAT_VERSION}
# Named as the API names them.
API_NAMES = {"content": "text", "slots": "metadata"}
# Implied by the account, or specific to one ledger.
EXCLUDED_FIELDS = frozenset({"account_id", "commit_id", "written_in", "position", "origin"})
JSON_TYPES: Mapping[type, Sequence[type]] = {
    models.FloatField: (int, float),
    models.IntegerField: (int,),
    models.BooleanField: (bool,),
}
M = TypeVar("M", bound=models.Model)


class InvalidLine(ValueError):
    """A line that is not in the export format, with the reason."""


class UnknownFormat(Exception):
    """A file whose header states another format."""


def format_line(row: MemoryEntry | MemoryEdge) -> bytes:
    kind = "entry" if isinstance(row, MemoryEntry) else "edge"
    return encode_canonical({"object": kind} | serialize_row(row)) + b"\n"


def serialize_row(row: models.Model) -> dict[str, Any]:
    return {name: getattr(row, field.attname) for name, field in _list_fields(type(row)).items()}


def parse_object(text: str) -> dict[str, Any]:
    """Return the object of a line, in values that the database can store."""
    try:
        value = json.loads(text)
        check_storable(value)
    except RecursionError:
        raise InvalidLine("is nested too deeply") from None
    except Unstorable as error:
        raise InvalidLine(str(error)) from error
    except ValueError as error:
        raise InvalidLine(f"is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise InvalidLine("is not a JSON object")
    if value.get("object") == "memories" and value.get("format") != FORMAT_VERSION:
        raise UnknownFormat(
            f"This is format {value.get('format')}; we read format {FORMAT_VERSION}."
        )
    return value


def parse_entry(line: Mapping[str, Any], account_id: UUID) -> MemoryEntry:
    """Return the entry of a line; absent fields have their defaults."""
    entry = _parse_row(MemoryEntry, line)
    entry.account_id = account_id
    entry.client_id = entry.client_id or None
    _set_required_fields(entry)
    if "id" not in line:
        # The same line is the same entry, however often it is read.
        name = (
            f"{entry.scope}\x1f{entry.client_id}"
            if entry.client_id
            else encode_canonical(line).hex()
        )
        entry.pk = uuid5(account_id, name)
    return entry


def _set_required_fields(entry: MemoryEntry) -> None:
    """Add required fields that a line may lack."""
    if not entry.content.strip():
        raise InvalidLine("text: is empty")
    now = timezone.now()
    for name in ("created_at", "updated_at", "observed_at"):
        if getattr(entry, name) is None:
            setattr(entry, name, now if name == "created_at" else entry.created_at)
    entry.kind = entry.kind or MemoryEntry.Kind.FACT
    entry.status = entry.status or MemoryEntry.Status.ACTIVE
    entry.visibility = entry.visibility or infer_visibility(entry)


def parse_edge(line: Mapping[str, Any], account_id: UUID) -> MemoryEdge:
    edge = _parse_row(MemoryEdge, line)
    edge.account_id = account_id
    for name in ("src_id", "dst_id", "type"):
        if not line.get(name):
            raise InvalidLine(f"{name}: is missing")
    edge.created_at = timezone.now() if "created_at" not in line else edge.created_at
    if "id" not in line:
        edge.pk = uuid5(account_id, encode_canonical(line).hex())
    return edge


def _parse_row(model: type[M], line: Mapping[str, Any]) -> M:
    fields = _list_fields(model)
    unknown = line.keys() - fields.keys() - {"object"}
    if unknown:
        raise InvalidLine(f"{min(unknown)}: unknown field")
    values = {fields[name]: value for name, value in line.items() if name in fields}
    return model(**{field.attname: _parse_value(field, value) for field, value in values.items()})


def _list_fields(model: type[models.Model]) -> dict[str, "models.Field[Any, Any]"]:
    return {
        API_NAMES.get(field.attname, field.attname): field
        for field in model._meta.concrete_fields
        if field.attname not in EXCLUDED_FIELDS
    }


def _parse_value(field: "models.Field[Any, Any]", value: Any) -> Any:
    """Return a value of the field's type, within its limits."""
    name = API_NAMES.get(field.attname, field.attname)
    if value is None and field.null:
        return None
    if not _has_type(field, value):
        raise InvalidLine(f"{name}: invalid value")
    try:
        parsed = field.to_python(value)
        if parsed not in field.empty_values:
            field.run_validators(parsed)
            if not field.is_relation:  # foreign keys are checked later, in bulk
                field.validate(parsed, None)
        if isinstance(parsed, datetime):  # of the year 0 in UTC, or without a zone
            check_storable(parsed, name)
    except ValidationError as error:
        raise InvalidLine(f"{name}: {error.messages[0]}") from error
    except Unstorable as error:
        raise InvalidLine(str(error)) from error
    return parsed


def _has_type(field: "models.Field[Any, Any]", value: Any) -> bool:
    if isinstance(field, models.JSONField):
        return isinstance(value, type(field.get_default()))
    if isinstance(field, ArrayField):
        return isinstance(value, list) and all(isinstance(item, str) for item in value)
    for field_type, types in JSON_TYPES.items():
        if isinstance(field, field_type):
            has_type = isinstance(value, tuple(types))
            # In Python a bool is an int, but not in this format.
            return has_type and (bool in types or not isinstance(value, bool))
    return isinstance(value, str)
