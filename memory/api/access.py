"""Lookup of the requested memory, with the key's read access."""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from kmapp.accounts.authentication import KeyPrincipal
from kmapp.accounts.scopes import Scope
from kmapp.api.object_uris import parse_uri
from kmapp.api.serializers import IdField, any_of
from kmapp.errors import Gone, NotFound
from kmapp.ledger.read_verification import withhold_mismatches
from kmapp.providers.active_models import active_model
from memory.api.shared_request_serializers import OwnerIds, build_viewer
from memory.models import EntryQuerySet, ErasedEntry, MemoryEntry, MemoryVersion
from memory.models.entries import OWNER_IDS
from memory.models.entry_input import derive_entry_id
from memory.retrieval.as_of import PastState, exclude_hidden_entries

MAX_URI_LENGTH = 1000
MEMORY_URI = (
    r"^(?:km|aionis)://[^/\u0000]+/[^\u0000]+/(?!commit/)[^/\u0000]+/"
    r"[0-9a-fA-F]{8}-?(?:[0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}$"
)


class MemoryReference(OwnerIds):
    """A memory, by its ID or the client's. Owner IDs, if given, must match."""

    aliases = {**OwnerIds.aliases, "memory_id": "id", "node_id": "id"}
    together = any_of("id", "client_id")

    id = serializers.UUIDField(required=False)
    client_id = IdField()

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Require one of the two."""
        if not attrs.get("id") and not attrs.get("client_id"):
            raise serializers.ValidationError({"id": "Send the id or the client_id of a memory."})
        return attrs


@extend_schema_field({"type": "string", "maxLength": MAX_URI_LENGTH, "pattern": MEMORY_URI})
class MemoryUriField(serializers.CharField):
    """The URI of a memory. The schema states its form; `Cited` checks it where the URI is used."""


class Cited(MemoryReference):
    """A memory, also by the URI of a citation, and the time at which to read it."""

    aliases = {**MemoryReference.aliases, "uri": "citation"}
    together = any_of("id", "client_id", "citation")

    citation = MemoryUriField(max_length=MAX_URI_LENGTH, required=False)
    as_of = serializers.DateTimeField(
        required=False, allow_null=True, help_text="Return the state at this time."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Take the ID from the citation, unless the ID is given."""
        if not attrs.get("id") and (citation := attrs.get("citation")):
            attrs["id"] = self._find_cited_id(citation)
        return super().validate(attrs)

    def _find_cited_id(self, citation: str) -> UUID:
        uri = parse_uri(citation) if re.fullmatch(MEMORY_URI, citation) else None
        if uri is None:
            raise serializers.ValidationError({"citation": "This is not the URI of a memory."})
        if uri.account != str(self.context["request"].auth.account_id):
            raise NotFound("Memory not found.")
        return UUID(uri.object_id)


def filter_readable(
    principal: KeyPrincipal, data: Mapping[str, Any], at: datetime | None = None
) -> EntryQuerySet:
    """Return the memories that a key may read; admin keys may read all.

    Other keys may read visible memories and those that they wrote. IDs cannot be guessed, so naming
    the owner is optional; if it is named, it must match.
    """
    rows = MemoryEntry.objects.of(principal.account_id)
    if not principal.may(Scope.ADMIN):
        rows = rows.current_or_written_by(str(principal.actor), at)
    return _filter_visible_to_owner(rows, data)


def _filter_visible_to_owner(rows: EntryQuerySet, data: Mapping[str, Any]) -> EntryQuerySet:
    owner_ids = {name: data.get(name) for name in OWNER_IDS}
    return rows.visible_to(build_viewer(owner_ids)) if any(owner_ids.values()) else rows


def filter_forgettable(principal: KeyPrincipal, data: Mapping[str, Any]) -> EntryQuerySet:
    """Return the memories that a key may forget: readable ones, and those it forgot before."""
    forgotten_by_key = MemoryVersion.objects.filter(
        account_id=OuterRef("account_id"),
        entry_id=OuterRef("pk"),
        version=OuterRef("version"),
        event=MemoryVersion.Event.FORGET,
        actor=str(principal.actor),
    )
    forgotten = MemoryEntry.objects.of(principal.account_id).filter(Exists(forgotten_by_key))
    return filter_readable(principal, data) | _filter_visible_to_owner(forgotten, data)


def get_past_entry(principal: KeyPrincipal, data: Mapping[str, Any], at: datetime) -> MemoryEntry:
    """Return a memory at an earlier time, if it is visible now."""
    rows = MemoryEntry.objects.of(principal.account_id)
    if not principal.may(Scope.ADMIN):
        rows = exclude_hidden_entries(rows)
    present = _filter_by_id(_filter_visible_to_owner(rows, data), data)
    past = PastState(account_id=principal.account_id, at=at, present=present)
    past_rows = _filter_by_id(filter_readable(principal, data, at), data)
    for entry in past.load_entries(past_rows.with_verify_on_read(principal.account_id)):
        return refuse_mismatch(principal.account_id, entry, is_past=True)
    raise NotFound("There was no such memory then.")


def _filter_by_id(rows: EntryQuerySet, data: Mapping[str, Any]) -> EntryQuerySet:
    if data.get("id"):
        return rows.filter(pk=data["id"])
    return rows.filter(client_id=data["client_id"], scope=data.get("scope") or "")


def get_entry(account_id: UUID, rows: EntryQuerySet, data: Mapping[str, Any]) -> MemoryEntry:
    """Return the requested memory. Raise the same error for unknown and unreadable ones."""
    annotated = _filter_by_id(rows, data).with_embedding_state(active_model().pk)
    entry = annotated.with_verify_on_read(account_id).first()
    if entry is None:
        _refuse_erased(account_id, data)
        raise NotFound("Memory not found.")
    return refuse_mismatch(account_id, entry)


def refuse_mismatch(account_id: UUID, entry: MemoryEntry, *, is_past: bool = False) -> MemoryEntry:
    """Return the memory if it is as the ledger sealed it, or if the account does not verify."""
    if not withhold_mismatches(account_id, [entry], is_past=is_past):
        raise NotFound("This memory differs from the ledger and is withheld.", code="withheld")
    return entry


def _refuse_erased(account_id: UUID, data: Mapping[str, Any]) -> None:
    scope = data.get("scope") or ""
    key = data.get("id") or derive_entry_id(account_id, scope, data["client_id"])
    if ErasedEntry.objects.of(account_id).filter(pk=key).exists():
        raise Gone("This memory was erased.")
