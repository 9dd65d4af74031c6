"""Request serializers of writes: memories, edges and batches of both."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from rest_framework import serializers
from rest_framework.exceptions import ValidationError

from kmapp.api import batch_node_registry as nodes
from kmapp.api.serializers import (
    MAX_ID_LENGTH,
    Aliases,
    IdField,
    OptionalText,
    Typed,
    any_of,
    one_of,
)
from memory.api.shared_request_serializers import MAX_TEXT_LENGTH, OwnerIds, Share, provided_values
from memory.models import MemoryEdge, MemoryEntry
from memory.models.entries import MIN_HALF_LIFE_DAYS, OWNER_IDS
from memory.models.entry_input import MAX_TAGS, EdgeEnd, NewEdge, NewEntry

BATCH_FIELDS = (*OWNER_IDS, "visibility")
# A guest, such as a rule, is for one of these alone.
AUDIENCE_FIELDS = ("user_id", "agent_id", "app_id")
MAX_BATCH_SIZE = 500  # memories of one write


def apply_batch_defaults(batch: Aliases, data: Any) -> Any:
    """Return the batch with its defaults applied to each node."""
    if not isinstance(data, Mapping) or not isinstance(data.get("nodes"), list):
        return data
    defaults = {
        name: value for name in BATCH_FIELDS if (value := _find_valid_default(batch, name, data))
    }
    return {
        **data,
        "nodes": [_apply_defaults(defaults, node, batch.aliases) for node in data["nodes"]],
    }


def _find_valid_default(batch: Aliases, name: str, data: Mapping[str, Any]) -> str:
    """Return a valid default or an empty string; the batch reports an invalid one once."""
    value = data.get(_find_used_name(name, data, batch.aliases))
    try:
        return str(batch.fields[name].run_validation(value)) if isinstance(value, str) else ""
    except ValidationError:
        return ""


def _apply_defaults(defaults: Mapping[str, str], node: Any, aliases: Mapping[str, str]) -> Any:
    if not isinstance(node, Mapping):
        return node
    if nodes.find_kind(node) and any(
        _find_used_name(name, node, aliases) for name in AUDIENCE_FIELDS
    ):
        return node
    missing = {
        name: value for name, value in defaults.items() if not _find_used_name(name, node, aliases)
    }
    return {**node, **missing}


def _find_used_name(name: str, data: Mapping[str, Any], aliases: Mapping[str, str]) -> str:
    """Return the field or alias under which the request names a value, or an empty string."""
    names = (name, *(alias for alias, field_name in aliases.items() if field_name == name))
    return next((used_name for used_name in names if not _is_blank(data.get(used_name))), "")


def _is_blank(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def list_foreign_nodes(raw_nodes: Sequence[Any]) -> list[nodes.ForeignNode]:
    """Return the nodes of a batch that other apps store, with their positions."""
    return [
        replace(node, position=position)
        for position, node in enumerate(raw_nodes)
        if isinstance(node, nodes.ForeignNode)
    ]


class EntryInput(OwnerIds):
    """One memory to write."""

    aliases = {**Aliases.aliases, "consumer_agent_id": "agent_id", "importance_score": "importance"}

    text = serializers.CharField(max_length=MAX_TEXT_LENGTH, trim_whitespace=False)
    kind = serializers.ChoiceField(choices=MemoryEntry.Kind.choices, required=False)
    title = OptionalText(max_length=500)
    metadata = serializers.DictField(required=False, allow_null=True)
    tags = serializers.ListField(
        child=serializers.CharField(max_length=100), max_length=MAX_TAGS, required=False
    )
    entities = serializers.ListField(
        child=serializers.CharField(max_length=200), max_length=100, required=False
    )
    sources = serializers.ListField(
        child=serializers.DictField(), max_length=50, required=False, help_text="Citations."
    )
    raw_ref = OptionalText(max_length=2000)
    evidence_ref = OptionalText(max_length=2000)
    id = serializers.UUIDField(required=False, allow_null=True)
    client_id = IdField(
        help_text="Your own ID. Repeating a write with the same ID and body changes nothing."
    )
    visibility = serializers.ChoiceField(
        choices=MemoryEntry.Visibility.choices, required=False, allow_null=True
    )
    importance = Share(required=False)
    confidence = Share(required=False)
    salience = Share(required=False)
    half_life_days = serializers.FloatField(
        min_value=MIN_HALF_LIFE_DAYS, required=False, allow_null=True
    )
    tier = serializers.ChoiceField(choices=MemoryEntry.Tier.choices, required=False)
    observed_at = serializers.DateTimeField(required=False, allow_null=True)
    valid_from = serializers.DateTimeField(required=False, allow_null=True)
    valid_to = serializers.DateTimeField(required=False, allow_null=True)
    expires_at = serializers.DateTimeField(required=False, allow_null=True)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Require a text, a period of validity, and the owner that the visibility names."""
        if not attrs["text"].strip():
            raise serializers.ValidationError({"text": "This text has only spaces."})
        start, end = attrs.get("valid_from"), attrs.get("valid_to")
        if start and end and start >= end:
            raise serializers.ValidationError({"valid_to": "Send a time after valid_from."})
        visibility, run = attrs.get("visibility"), attrs.get("run_id")
        if visibility == MemoryEntry.Visibility.CONVERSATION and not run:
            raise serializers.ValidationError(
                {"run_id": "visibility conversation needs the run it belongs to."}
            )
        if visibility == MemoryEntry.Visibility.USER and not (
            attrs.get("user_id") or attrs.get("agent_id")
        ):
            raise serializers.ValidationError({"user_id": "visibility user needs the user."})
        return attrs


def build_entry(data: Mapping[str, Any]) -> NewEntry:
    return NewEntry(**provided_values(data))


class EndInput(Typed):
    """One end of an edge."""

    together = one_of("id", "client_id")

    id = serializers.UUIDField(required=False)
    client_id = serializers.CharField(max_length=MAX_ID_LENGTH, required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Require exactly one of the two."""
        if len(attrs) != 1:
            raise serializers.ValidationError("Send id or client_id.")
        return attrs


class EdgeInput(Typed):
    """One edge to write."""

    id = serializers.UUIDField(required=False)
    type = serializers.ChoiceField(choices=MemoryEdge.Type.choices)
    src = EndInput()
    dst = EndInput()
    weight = Share(required=False)
    confidence = Share(required=False)
    decay_rate = Share(required=False)


def build_edge(data: Mapping[str, Any]) -> NewEdge:
    return NewEdge(
        **{**provided_values(data), "src": EdgeEnd(**data["src"]), "dst": EdgeEnd(**data["dst"])}
    )


class NodeInput(EntryInput):
    """A node of a batch: a memory, or an object of another app, such as a rule.

    A memory without text is its title.
    """

    together = any_of("text", "title")

    text = serializers.CharField(max_length=MAX_TEXT_LENGTH, trim_whitespace=False, required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Require a text or a title."""
        if "text" not in attrs and not attrs.get("title"):
            raise serializers.ValidationError({"text": "Send a text or a title."})
        return super().validate({"text": attrs.get("title"), **attrs})

    def find_other_reader(self, data: Mapping[str, Any]) -> serializers.Serializer[Any] | None:
        kind = nodes.find_kind(data)
        reader: serializers.Serializer[Any] | None = kind.serializer() if kind else None
        return reader

    def run_validation(self, data: Any = serializers.empty) -> Any:
        """Parse a node by the app that stores it."""
        kind = nodes.find_kind(data)
        if kind:
            return nodes.ForeignNode(kind=kind.name, position=-1, value=kind.read(data))
        return super().run_validation(data)


DEFAULT_HELP_TEXT = "Default for every node without its own value."


class WriteInput(OwnerIds):
    """A batch of memories and edges; all of it is written, or nothing."""

    aliases = EntryInput.aliases
    together = any_of("nodes", "edges")

    user_id = IdField(help_text=DEFAULT_HELP_TEXT)
    agent_id = IdField(help_text=DEFAULT_HELP_TEXT)
    app_id = IdField(help_text=DEFAULT_HELP_TEXT)
    run_id = IdField(help_text=DEFAULT_HELP_TEXT)
    visibility = serializers.ChoiceField(
        choices=MemoryEntry.Visibility.choices,
        required=False,
        allow_null=True,
        help_text=DEFAULT_HELP_TEXT,
    )
    actor = IdField(
        help_text="Accepted for compatibility and ignored; the key identifies the writer."
    )
    input_text = serializers.CharField(max_length=MAX_TEXT_LENGTH, required=False, allow_null=True)
    input_sha256 = serializers.RegexField(r"^[0-9a-f]{64}$", required=False, allow_null=True)
    auto_embed = serializers.BooleanField(default=True)
    force_reembed = serializers.BooleanField(default=False)
    dedupe = serializers.BooleanField(
        default=False, help_text="Whether identical texts are stored once."
    )
    memory_lane = serializers.ChoiceField(
        choices=["private", "shared"],
        required=False,
        allow_null=True,
        help_text="private: memories without IDs are visible to the owner only.",
    )
    owner_agent_id = IdField()
    nodes = NodeInput(many=True, required=False)
    edges = EdgeInput(many=True, required=False)

    def to_internal_value(self, data: Any) -> Any:
        return super().to_internal_value(apply_batch_defaults(self, data))

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Require nodes or edges within the limits."""
        if attrs.get("memory_lane") == "private":
            self._require_private(attrs)
        raw_nodes, edges = attrs.get("nodes", []), attrs.get("edges", [])
        if not raw_nodes and not edges:
            raise serializers.ValidationError({"nodes": "Send at least one node or edge."})
        if len(raw_nodes) > MAX_BATCH_SIZE:
            raise serializers.ValidationError(
                {"nodes": f"{len(raw_nodes)} nodes; send at most {MAX_BATCH_SIZE} at a time."}
            )
        if len(edges) > 2 * MAX_BATCH_SIZE:
            raise serializers.ValidationError(
                {"edges": f"{len(edges)} edges; send at most {2 * MAX_BATCH_SIZE} at a time."}
            )
        return attrs

    def _require_private(self, attrs: dict[str, Any]) -> None:
        owner = attrs.get("owner_agent_id")
        for node in attrs.get("nodes", []):
            if isinstance(node, nodes.ForeignNode) or node.get("visibility"):
                continue
            if not (node.get("user_id") or node.get("agent_id") or owner):
                raise serializers.ValidationError(
                    {"owner_agent_id": "memory_lane private needs the agent that owns it."}
                )
            if not node.get("user_id"):
                node["agent_id"] = node.get("agent_id") or owner
            node["visibility"] = MemoryEntry.Visibility.USER
