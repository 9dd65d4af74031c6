"""Memories, their versions and connections. People decide here by the same verbs as in review."""

from collections.abc import Callable

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from kmapp.admin import ReadOnly, actor_of
from kmapp.afterwards import Carrier
from memory.actions import review
from memory.actions.review import Decision
from memory.models import ErasedEntry, MemoryEdge, MemoryEntry, MemoryVersion


@admin.register(MemoryEntry)
class MemoryEntryAdmin(ReadOnly):
    """What was remembered."""

    list_display = ("__str__", "kind", "status", "visibility", "user_id", "pinned", "created_at")
    list_filter = ("status", "kind", "visibility", "tier", "pinned")
    search_fields = ("content", "title", "=client_id", "=user_id", "=run_id")
    date_hierarchy = "created_at"
    ordering = ("-created_at", "-pk")
    left_out = ("account", "written_sha256")
    actions = ("approve", "reject", "pin", "forget")

    @admin.action(description=_("Approve"), permissions=["review"])
    def approve(self, request: HttpRequest, rows: QuerySet[MemoryEntry]) -> Carrier | None:
        return self._decide(request, rows, review.approve)

    @admin.action(description=_("Reject"), permissions=["review"])
    def reject(self, request: HttpRequest, rows: QuerySet[MemoryEntry]) -> Carrier | None:
        return self._decide(request, rows, review.reject)

    @admin.action(description=_("Pin"), permissions=["review"])
    def pin(self, request: HttpRequest, rows: QuerySet[MemoryEntry]) -> Carrier | None:
        return self._decide(request, rows, review.pin)

    @admin.action(description=_("Forget"), permissions=["review"])
    def forget(self, request: HttpRequest, rows: QuerySet[MemoryEntry]) -> Carrier | None:
        return self._decide(request, rows, review.forget)

    def _decide(
        self,
        request: HttpRequest,
        rows: QuerySet[MemoryEntry],
        verb: Callable[[Decision], MemoryEntry],
    ) -> Carrier | None:
        actor = actor_of(request)
        return self.decide(
            request,
            rows,
            lambda entry: verb(
                Decision(
                    account_id=entry.account_id,
                    entry_id=entry.pk,
                    actor=actor,
                    version=entry.version,
                )
            ),
        )


@admin.register(MemoryEdge)
class MemoryEdgeAdmin(ReadOnly):
    """How memories hang together."""

    list_display = ("src", "type", "dst", "weight", "origin", "created_at")
    list_filter = ("type", "origin")
    list_select_related = ("src", "dst")
    search_fields = ("=src__id", "=dst__id")
    date_hierarchy = "created_at"
    ordering = ("-created_at", "-pk")


@admin.register(MemoryVersion)
class MemoryVersionAdmin(ReadOnly):
    """What each memory was, version by version."""

    list_display = ("entry", "version", "event", "actor", "reason", "created_at")
    list_filter = ("event",)
    list_select_related = ("entry",)
    search_fields = ("=entry__id", "actor", "reason")
    date_hierarchy = "created_at"
    ordering = ("-created_at", "-pk")


@admin.register(ErasedEntry)
class ErasedEntryAdmin(ReadOnly):
    """That something was here."""

    list_display = ("id", "commit", "erased_at")
    list_select_related = ("commit",)
    search_fields = ("=id",)
    date_hierarchy = "erased_at"
    ordering = ("-erased_at",)
