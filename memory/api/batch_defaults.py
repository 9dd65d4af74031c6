"""Defaults of a batch, applied to each node that does not set them."""

from collections.abc import Mapping
from typing import Any

from rest_framework.exceptions import ValidationError

from kmapp.api.serializers import Aliases
from kmapp.ledger import batch_nodes
from memory.retrieval.filters import IDS

BATCH_FIELDS = (*IDS, "visibility")
OF_ONE = ("user_id", "agent_id", "app_id")  # a guest, such as a rule, is for one of these alone


def apply_batch_defaults(batch: Aliases, data: Any) -> Any:
    """Return the batch with its defaults applied to each node."""
    if not isinstance(data, Mapping) or not isinstance(data.get("nodes"), list):
        return data
    defaults = {
        name: value for name in BATCH_FIELDS if (value := _valid_default(batch, name, data))
    }
    return {**data, "nodes": [_with(defaults, node, batch.aliases) for node in data["nodes"]]}


def _valid_default(batch: Aliases, name: str, data: Mapping[str, Any]) -> str:
    """Return a valid default or an empty string; the batch reports an invalid one once."""
    value = data.get(_name_used(name, data, batch.aliases))
    try:
        return str(batch.fields[name].run_validation(value)) if isinstance(value, str) else ""
    except ValidationError:
        return ""


def _with(defaults: Mapping[str, str], node: Any, aliases: Mapping[str, str]) -> Any:
    if not isinstance(node, Mapping):
        return node
    if batch_nodes.kind_of(node) and any(_name_used(name, node, aliases) for name in OF_ONE):
        return node
    missing = {
        name: value for name, value in defaults.items() if not _name_used(name, node, aliases)
    }
    return {**node, **missing}


def _name_used(name: str, data: Mapping[str, Any], aliases: Mapping[str, str]) -> str:
    """Return the field or alias under which the request names a value, or an empty string."""
    words = (name, *(alias for alias, ours in aliases.items() if ours == name))
    return next((word for word in words if not _blank(data.get(word))), "")


def _blank(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())
