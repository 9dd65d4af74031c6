"""Endpoints for writing, reading, changing and forgetting memories."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from kmapp.accounts.acting import acting
from kmapp.accounts.scopes import Scope
from kmapp.api.batch_node_registry import ForeignNode, list_required_scopes
from kmapp.api.object_uris import object_uri
from kmapp.api.permissions import require_scope
from kmapp.api.serializers import present
from kmapp.api.views import AgentView, parse
from kmapp.errors import Conflict, Invalid
from kmapp.ledger.read_verification import withhold_mismatches
from kmapp.providers.active_models import active_model
from memory.actions import review
from memory.actions.entry_locks import lock_against_erasure, lock_entry, stale_version_error
from memory.actions.extraction_requests import MessageContext, enqueue_rewrite
from memory.actions.proposal_findings import find_similar
from memory.actions.review import Decision
from memory.actions.write_entries import WriteResult, needs_review, propose_update, write_batch
from memory.api import serialize
from memory.api.access import Cited, MemoryReference, filter_readable, get_entry, get_past_entry
from memory.api.add_messages import serialize_extraction
from memory.api.response_types import (
    AddAnswer,
    Memory,
    MemoryWithVector,
    Proposal,
    StoreAnswer,
    WriteAnswer,
    WrittenNode,
)
from memory.api.shared_request_serializers import MAX_TEXT_LENGTH
from memory.api.write_input import (
    EntryInput,
    WriteInput,
    build_edge,
    build_entry,
    list_foreign_nodes,
)
from memory.models import MemoryEntry, MemorySettings
from memory.models.entry_input import MAX_TAGS, Batch


class Write(AgentView):
    """Write a batch of memories and edges in one commit; all of it, or nothing.

    Repeating a `client_id` with the same body returns the existing IDs and commit; with another
    body it is a 409. Nodes of type `rule` become draft rules, which also needs the scope
    rules:write. IDs and visibility of the batch are the defaults of nodes without their own, and of
    rules without an audience.
    """

    scopes = {"POST": Scope.MEMORY_WRITE}

    @extend_schema(request=WriteInput, responses={201: WriteAnswer, 200: WriteAnswer})
    def post(self, request: Request) -> Response:
        data = parse(WriteInput, request)
        scope = data.get("scope") or ""
        input_value = data.get("input_text") or (
            {"sha256": data["input_sha256"]} if data.get("input_sha256") else None
        )
        foreign_nodes = list_foreign_nodes(data.get("nodes", []))
        for scope_name in list_required_scopes(foreign_nodes):
            require_scope(self.request.auth, scope_name)
        batch = Batch(
            entries=[
                build_entry(node)
                for node in data.get("nodes", [])
                if not isinstance(node, ForeignNode)
            ],
            hosted_nodes=foreign_nodes,
            edges=[build_edge(edge) for edge in data.get("edges", [])],
            scope=scope,
            input=input_value,
            embed=data["auto_embed"],
            reembed=data["force_reembed"],
            dedupe=data["dedupe"],
        )
        with acting(self.account):
            written = write_batch(account_id=self.account, actor=self.actor, batch=batch)
            output = _serialize_write_result(written, self.account, scope)
            return self.seal(Response(output, status=201 if written.created_ids else 200))


def _serialize_write_result(written: WriteResult, account_id: UUID, scope: str) -> WriteAnswer:
    commit = written.commit
    answer: WriteAnswer = {
        "tenant_id": account_id,
        "scope": scope or "default",
        "commit_id": commit.pk if commit else None,
        "commit_uri": object_uri(commit.pk, "commit", account_id, scope) if commit else None,
        "commit_hash": commit.commit_hash if commit else None,
        "nodes": _serialize_nodes(written, scope),
        "edges": [serialize.serialize_edge(edge, scope) for edge in written.edges],
    }
    if written.embedding_events:
        answer["embedding_backfill"] = {
            "enqueued": True,
            "pending_nodes": len(written.embedding_events),
            "event_ids": list(written.embedding_events),
        }
    return answer


def _serialize_nodes(written: WriteResult, scope: str) -> list[WrittenNode]:
    """Return the results in the order of the nodes."""
    own_entries = iter(written.entries)
    return [
        serialize.serialize_node(foreign_node, written.account_id, scope)
        if (foreign_node := written.hosted_nodes.get(position))
        else serialize.serialize_node(entry := next(own_entries), entry.account_id, entry.scope)
        for position in range(len(written.entries) + len(written.hosted_nodes))
    ]


class StoreInput(EntryInput):
    """One memory to store."""

    auto_embed = serializers.BooleanField(default=True)
    dedupe = serializers.BooleanField(
        default=True, help_text="Whether identical texts are stored once."
    )


class Store(AgentView):
    """Store one memory.

    A text that already exists for the same audience is not stored again: the response is the
    existing memory, and `decisions` says so. Similar memories are listed in `decisions` too. Send
    `dedupe` false to store every text.
    """

    scopes = {"POST": Scope.MEMORY_WRITE}

    @extend_schema(request=StoreInput, responses={201: StoreAnswer, 200: StoreAnswer})
    def post(self, request: Request) -> Response:
        data = parse(StoreInput, request)
        embed, dedupe = data.pop("auto_embed"), data.pop("dedupe")
        draft = build_entry(data)
        batch = Batch(entries=[draft], embed=embed, dedupe=dedupe)
        with acting(self.account):
            written = self._write(batch)
            [entry] = written.entries
            if not written.created_ids and not withhold_mismatches(self.account, [entry]):
                raise Conflict(
                    "This text is stored already, as a memory that differs from the ledger and is"
                    " withheld.",
                    code="withheld",
                )
            output = serialize.serialize_stored_entry(
                entry,
                again=not written.created_ids and not draft.client_id and not draft.id,
                alike=find_similar(entry) if written.created_ids and dedupe else [],
            )
            return self.seal(Response(output, status=201 if written.created_ids else 200))

    def _write(self, batch: Batch) -> WriteResult:
        """Write the memory. An existing one cannot be erased until its response is stored."""
        while True:
            written = write_batch(account_id=self.account, actor=self.actor, batch=batch)
            existing_ids = [entry.pk for entry in written.entries]
            if written.created_ids or lock_against_erasure(self.account, existing_ids):
                return written


class Get(AgentView):
    """Return a memory by its ID, client ID or citation; with `as_of`, at an earlier time."""

    scopes = {"POST": Scope.MEMORY_READ}

    @extend_schema(request=Cited, responses={200: MemoryWithVector})
    def post(self, request: Request) -> Response:
        data = parse(Cited, request)
        with acting(self.account):
            if at := data.get("as_of"):
                entry = get_past_entry(self.request.auth, data, at)
                vector = {"embedding_status": "NONE", "embedding_ready_at": None}  # of the present
            else:
                entry = get_entry(self.account, filter_readable(self.request.auth, data), data)
                vector = {"embedding_status": entry.embedding_state}
            output = serialize.serialize_entry_as(
                MemoryWithVector, entry, embedding_model=active_model().name, **vector
            )
        return Response(output)


# What an update may change, by its wire name.
CHANGEABLE = {
    "text": "content",
    "title": "title",
    "kind": "kind",
    "metadata": "slots",
    "tags": "tags",
    "expires_at": "expires_at",
}


# A null removes the end of recall; for the other fields, it is no value.
CHANGES = [
    *(present(name) for name in CHANGEABLE if name != "expires_at"),
    {"required": ["expires_at"]},
]


class UpdateInput(MemoryReference):
    """Changes of a memory; omitted fields stay as they are."""

    together = {
        "allOf": [MemoryReference.together, {"oneOf": [present("instruction"), {"anyOf": CHANGES}]}]
    }

    text = serializers.CharField(max_length=MAX_TEXT_LENGTH, required=False, trim_whitespace=False)
    title = serializers.CharField(max_length=500, required=False, allow_blank=True)
    kind = serializers.ChoiceField(choices=MemoryEntry.Kind.choices, required=False)
    metadata = serializers.DictField(required=False)
    tags = serializers.ListField(
        child=serializers.CharField(max_length=100), max_length=MAX_TAGS, required=False
    )
    expires_at = serializers.DateTimeField(
        required=False, allow_null=True, help_text="The end of recall; null for none."
    )
    instruction = serializers.CharField(
        max_length=4000,
        required=False,
        help_text="Instruction for a model that changes the memory. The event reports the result.",
    )
    version = serializers.IntegerField(
        min_value=1, required=False, help_text="Change it only if it is still at this version."
    )
    reason = serializers.CharField(max_length=1000, required=False, allow_blank=True)


class Update(AgentView):
    """Change a memory. The change of an account-wide memory is a proposal that needs review.

    A new title or text unpins the memory: a person confirmed the former one.
    """

    scopes = {"POST": Scope.MEMORY_WRITE}

    @extend_schema(request=UpdateInput, responses={200: Memory, 202: Proposal | AddAnswer})
    def post(self, request: Request) -> Response:
        data = parse(UpdateInput, request)
        values = {ours: data[name] for name, ours in CHANGEABLE.items() if name in data}
        if "instruction" in data:
            return self._instruct(data, values)
        if not values:
            raise Invalid(
                "Send at least one of text, title, kind, metadata, tags or expires_at.",
                issues=[{"path": "text", "message": "nothing to change"}],
            )
        with acting(self.account):
            entry = get_entry(self.account, filter_readable(self.request.auth, data), data)
            # Locked, so that its state cannot change between this check and the change.
            entry = lock_entry(self.account, entry.pk, data.get("version"))
            decision = Decision.about(entry, self.actor, data.get("reason", ""))
            settings = MemorySettings.objects.get_or_default(self.account)
            kinds = {entry.kind, values.get("kind", entry.kind)}
            if entry.status == MemoryEntry.Status.ACTIVE and any(
                needs_review(settings, self.actor, entry.visibility, kind) for kind in kinds
            ):
                proposed = propose_update(decision, values)
                output = serialize.serialize_entry_as(Proposal, proposed, supersedes=entry.pk)
                return self.seal(Response(output, status=202))
            changed = review.edit(decision, values)
            return self.seal(Response(serialize.serialize_entry(changed)))

    def _instruct(self, data: dict[str, Any], values: dict[str, Any]) -> Response:
        """Enqueue the change of the memory by a model."""
        if values:
            raise Invalid(
                "Send either an instruction or new values, not both.",
                issues=[{"path": "instruction", "message": "cannot be combined with new values"}],
            )
        with acting(self.account):
            entry = get_entry(self.account, filter_readable(self.request.auth, data), data)
            if data.get("version") not in (None, entry.version):
                raise stale_version_error(entry)
            source = MessageContext(account_id=self.account, actor=self.actor)
            handed = enqueue_rewrite(source, entry, data["instruction"])
            return self.seal(Response(serialize_extraction(handed), status=202))
