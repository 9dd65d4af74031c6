"""Django admin of memories, versions and edges, with the actions of the review."""

from collections.abc import Callable

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from kmapp.web.admin.base import NewestFirstAdmin, ReadOnlyAdmin
from kmapp.web.after_commit import AfterCommitResponse
from kmapp.web.http import as_web_request
from memory.actions import review
from memory.actions.review import Decision
from memory.models import (
    BulkPart,
    BulkRun,
    ErasedEntry,
    Extraction,
    Finding,
    MemoryEdge,
    MemoryEntry,
    MemoryExport,
    MemoryRating,
    MemorySettings,
    MemoryVersion,
    ReviewLease,
    SavedView,
    TopicSuggestion,
    Triage,
)

Entries = QuerySet[MemoryEntry]


@admin.register(MemoryEntry)
class MemoryEntryAdmin(NewestFirstAdmin):
    list_display = ("__str__", "kind", "status", "visibility", "user_id", "pinned", "created_at")
    list_filter = ("status", "kind", "visibility", "tier", "pinned")
    search_fields = ("content", "title", "=client_id", "=user_id", "=run_id")
    hidden_fields = ("account", "written_sha256")
    actions = ("approve", "reject", "pin", "forget")

    @admin.action(description=_("Approve"), permissions=["review"])
    def approve(self, request: HttpRequest, rows: Entries) -> AfterCommitResponse | None:
        return self._decide(request, rows, review.approve)

    @admin.action(description=_("Reject"), permissions=["review"])
    def reject(self, request: HttpRequest, rows: Entries) -> AfterCommitResponse | None:
        return self._decide(request, rows, review.reject)

    @admin.action(description=_("Pin"), permissions=["review"])
    def pin(self, request: HttpRequest, rows: Entries) -> AfterCommitResponse | None:
        return self._decide(request, rows, review.pin)

    @admin.action(description=_("Forget"), permissions=["review"])
    def forget(self, request: HttpRequest, rows: Entries) -> AfterCommitResponse | None:
        return self._decide(request, rows, review.forget)

    def _decide(
        self, request: HttpRequest, rows: Entries, verb: Callable[[Decision], MemoryEntry]
    ) -> AfterCommitResponse | None:
        def decide(entry: MemoryEntry) -> MemoryEntry:
            return verb(
                Decision(
                    account_id=entry.account_id,
                    entry_id=entry.pk,
                    actor=as_web_request(request).actor,
                    version=entry.version,
                )
            )

        return self.apply_to_each(request, rows, decide)


@admin.register(MemoryEdge)
class MemoryEdgeAdmin(NewestFirstAdmin):
    list_display = ("src", "type", "dst", "weight", "origin", "created_at")
    list_filter = ("type", "origin")
    search_fields = ("=src__id", "=dst__id")


@admin.register(MemoryVersion)
class MemoryVersionAdmin(NewestFirstAdmin):
    list_display = ("entry", "version", "event", "actor", "reason", "created_at")
    list_filter = ("event",)
    search_fields = ("=entry__id", "actor", "reason")


@admin.register(MemoryRating)
class MemoryRatingAdmin(NewestFirstAdmin):
    list_display = ("entry", "outcome", "rater", "used_in", "reason", "created_at")
    list_filter = ("outcome",)
    search_fields = ("=entry__id", "rater", "reason")


@admin.register(MemoryExport)
class MemoryExportAdmin(NewestFirstAdmin):
    list_display = ("taken_by", "form", "number", "query", "created_at")
    list_filter = ("form",)
    search_fields = ("taken_by", "query")


@admin.register(SavedView)
class SavedViewAdmin(ReadOnlyAdmin):
    list_display = ("name", "owner", "shared", "query", "created_at")
    list_filter = ("shared",)
    search_fields = ("name", "query")
    date_hierarchy = "created_at"
    ordering = ("name", "pk")


@admin.register(ErasedEntry)
class ErasedEntryAdmin(ReadOnlyAdmin):
    list_display = ("id", "commit", "erased_at")
    search_fields = ("=id",)
    date_hierarchy = "erased_at"
    ordering = ("-erased_at",)


@admin.register(Triage)
class TriageAdmin(ReadOnlyAdmin):
    list_display = ("entry", "need", "by_meaning", "version", "checked_at")
    list_filter = ("need", "by_meaning")
    search_fields = ("=entry__id",)
    date_hierarchy = "checked_at"
    ordering = ("-checked_at", "-pk")


@admin.register(Finding)
class FindingAdmin(NewestFirstAdmin):
    list_display = ("entry", "kind", "name", "other", "score", "created_at")
    list_filter = ("kind",)
    search_fields = ("=entry__id", "=other__id")


@admin.register(TopicSuggestion)
class TopicSuggestionAdmin(NewestFirstAdmin):
    list_display = ("topic", "kind", "other", "score", "state", "decided_by", "created_at")
    list_filter = ("kind", "state")
    search_fields = ("=topic__id", "=other__id")


@admin.register(ReviewLease)
class ReviewLeaseAdmin(ReadOnlyAdmin):
    list_display = ("entry", "holder", "until")
    search_fields = ("=entry__id", "holder")
    date_hierarchy = "until"
    ordering = ("-until", "-pk")
    hidden_fields = ("account", "token")


@admin.register(BulkRun)
class BulkRunAdmin(NewestFirstAdmin):
    list_display = ("deed", "asked", "actor", "reason", "created_at", "undone_at")
    list_filter = ("deed",)
    search_fields = ("=id", "actor")


@admin.register(BulkPart)
class BulkPartAdmin(NewestFirstAdmin):
    list_display = ("run", "number", "done", "restored", "decided_in", "created_at")
    search_fields = ("=run__id",)


@admin.register(MemorySettings)
class MemorySettingsAdmin(ReadOnlyAdmin):
    list_display = ("__str__", "memory_enabled", "auto_store", "version")


@admin.register(Extraction)
class ExtractionAdmin(NewestFirstAdmin):
    list_display = ("id", "kind", "user_id", "agent_id", "problem", "created_at", "finished_at")
    list_filter = ("kind",)
    search_fields = ("=id", "=user_id", "=agent_id", "=run_id")
