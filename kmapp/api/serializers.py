"""What request serializers share: the words that other clients use for ours."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django.http import QueryDict
from rest_framework import serializers
from rest_framework.exceptions import ValidationError

ANYWHERE = frozenset({"account_id", "tenant_id"})  # every request may name its account


class OneOrMore(serializers.ListField):
    """A list; a single value stands for a list of one."""

    def to_internal_value(self, data: Any) -> list[Any]:
        return super().to_internal_value([data] if isinstance(data, str) else data)


class Aliases(serializers.Serializer[Any]):
    """Accepts other names for a serializer's fields. Our own name wins; complaints use theirs."""

    aliases: ClassVar[Mapping[str, str]] = {
        "content": "text",
        "text_summary": "text",
        "type": "kind",
        "slots": "metadata",
        "session_id": "run_id",
        "conversation_id": "run_id",
    }

    def to_internal_value(self, data: Any) -> Any:
        """Rename, check, and name what is wrong by the word that was sent."""
        if not isinstance(data, Mapping):
            return super().to_internal_value(data)
        used = self._used(data)
        try:
            return super().to_internal_value(self._given(_renamed(data, used)))
        except ValidationError as error:
            if not isinstance(error.detail, dict):
                raise
            theirs = {ours: alias for alias, ours in used.items()}
            raise ValidationError(
                {theirs.get(name, name): detail for name, detail in error.detail.items()}
            ) from None

    def _given(self, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """Null means not given: models in strict mode must say something of every argument."""
        if isinstance(data, QueryDict):
            return data
        left_out = {
            name
            for name, field in self.fields.items()
            if data.get(name, field) is None and not field.required and not field.allow_null
        }
        return {name: value for name, value in data.items() if name not in left_out}

    def _used(self, data: Mapping[str, Any]) -> dict[str, str]:
        """The aliases that stand in `data` for a field that does not."""
        used: dict[str, str] = {}
        for alias, ours in self.aliases.items():
            if alias in self.fields or ours not in self.fields or ours in used.values():
                continue
            if data.get(alias) is not None and data.get(ours) is None:
                used[alias] = ours
        return used


class Exact(Aliases):
    """Refuses names it does not know: where much is lost, a misspelt condition is no condition."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, Mapping):
            aliases = {alias for alias, ours in self.aliases.items() if ours in self.fields}
            known = {*self.fields, *aliases, *ANYWHERE}
            if unknown := sorted({str(name) for name in data} - known):
                raise ValidationError(dict.fromkeys(unknown, "There is no such field."))
        return super().to_internal_value(data)


def _renamed(data: Mapping[str, Any], used: Mapping[str, str]) -> Mapping[str, Any]:
    if isinstance(data, QueryDict):
        query = data.copy()
        for alias, ours in used.items():
            query.setlist(ours, query.getlist(alias))
        return query
    return {**data, **{ours: data[alias] for alias, ours in used.items()}}
