"""Which memory a request is about, and whether its key may read it."""

from collections.abc import Mapping
from typing import Any

from django.db.models import Exists, OuterRef
from rest_framework import serializers

from kmapp.accounts.authentication import KeyPrincipal
from kmapp.accounts.scopes import Scope
from kmapp.errors import NotFound
from kmapp.providers.active import active_model
from memory.api.serializers import IdField, Ids, viewer_of
from memory.models import EntryQuerySet, MemoryEntry, MemoryVersion


class Which(Ids):
    """Which memory: by its id, or by the client's own. Ids of whose it is must be its own."""

    aliases = {**Ids.aliases, "memory_id": "id", "node_id": "id"}

    id = serializers.UUIDField(required=False)
    client_id = IdField()

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """One of the two."""
        if not attrs.get("id") and not attrs.get("client_id"):
            raise serializers.ValidationError({"id": "Give the id or the client_id of a memory."})
        return attrs


def readable(principal: KeyPrincipal, asked: Mapping[str, Any]) -> EntryQuerySet:
    """What a key may read: what agents are told, and what it wrote itself. An admin key: all.

    Ids are not guessed, so a key need not say whose a memory is; if it does, that counts.
    """
    rows = MemoryEntry.objects.of(principal.account_id)
    if not principal.may(Scope.ADMIN):
        rows = rows.told_to(str(principal.actor))
    whose = {name: asked.get(name) for name in ("user_id", "agent_id", "app_id", "run_id")}
    return rows.visible_to(viewer_of(whose)) if any(whose.values()) else rows


def forgettable(principal: KeyPrincipal, asked: Mapping[str, Any]) -> EntryQuerySet:
    """What a key may forget: what it may read, and again what it forgot."""
    own = MemoryVersion.objects.filter(
        account_id=OuterRef("account_id"),
        entry_id=OuterRef("pk"),
        version=OuterRef("version"),
        event=MemoryVersion.Event.FORGET,
        actor=str(principal.actor),
    )
    return readable(principal, asked) | MemoryEntry.objects.of(principal.account_id).filter(
        Exists(own)
    )


def one(rows: EntryQuerySet, asked: Mapping[str, Any]) -> MemoryEntry:
    """The memory asked for, or the one answer for what is unknown and what may not be read."""
    if asked.get("id"):
        rows = rows.filter(pk=asked["id"])
    else:
        rows = rows.filter(client_id=asked["client_id"], scope=asked.get("scope") or "")
    entry = rows.with_embedding_state(active_model().pk).first()
    if entry is None:
        raise NotFound("There is no such memory.")
    return entry
