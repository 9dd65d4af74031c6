"""Django admin of memories, versions and edges, with the actions of the review."""

from collections.abc import Callable

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from kmapp.web.admin.base import ReadOnlyAdmin, admin_actor
from kmapp.web.after_commit import AfterCommitResponse
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


@admin.register(MemoryEntry)
class MemoryEntryAdmin(ReadOnlyAdmin):
    """What was remembered."""

    list_display = ("__str__", "kind", "status", "visibility", "user_id", "pinned", "created_at")
    list_filter = ("status", "kind", "visibility", "tier", "pinned")
    search_fields = ("content", "title", "=client_id", "=user_id", "=run_id")
    date_hierarchy = "created_at"
    ordering = ("-created_at", "-pk")
    hidden_fields = ("account", "written_sha256")
    actions = ("approve", "reject", "pin", "forget")

    @admin.action(description=_("Approve"), permissions=["review"])
    def approve(
        self, request: HttpRequest, rows: QuerySet[MemoryEntry]
    ) -> AfterCommitResponse | None:
        return self._decide(request, rows, review.approve)

    @admin.action(description=_("Reject"), permissions=["review"])
    def reject(
        self, request: HttpRequest, rows: QuerySet[MemoryEntry]
    ) -> AfterCommitResponse | None:
        return self._decide(request, rows, review.reject)

    @admin.action(description=_("Pin"), permissions=["review"])
    def pin(self, request: HttpRequest, rows: QuerySet[MemoryEntry]) -> AfterCommitResponse | None:
        return self._decide(request, rows, review.pin)

    @admin.action(description=_("Forget"), permissions=["review"])
    def forget(
        self, request: HttpRequest, rows: QuerySet[MemoryEntry]
    ) -> AfterCommitResponse | None:
        return self._decide(request, rows, review.forget)

    def _decide(
        self,
        request: HttpRequest,
        rows: QuerySet[MemoryEntry],
        verb: Callable[[Decision], MemoryEntry],
    ) -> AfterCommitResponse | None:
        actor = admin_actor(request)
        return self.apply_to_each(
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
class MemoryEdgeAdmin(ReadOnlyAdmin):
    """How memories hang together."""

    list_display = ("src", "type", "dst", "weight", "origin", "created_at")
    list_filter = ("type", "origin")
    list_select_related = ("src", "dst")
    search_fields = ("=src__id", "=dst__id")
    date_hierarchy = "created_at"
    ordering = ("-created_at", "-pk")


@admin.register(MemoryVersion)
class MemoryVersionAdmin(ReadOnlyAdmin):
    """What each memory was, version by version."""

    list_display = ("entry", "version", "event", "actor", "reason", "created_at")
    list_filter = ("event",)
    list_select_related = ("entry",)
    search_fields = ("=entry__id", "actor", "reason")
    date_hierarchy = "created_at"
    ordering = ("-created_at", "-pk")


@admin.register(MemoryRating)
class MemoryRatingAdmin(ReadOnlyAdmin):
    """What agents and people made of what they were told."""

    list_display = ("entry", "outcome", "rater", "used_in", "reason", "created_at")
    list_filter = ("outcome",)
    list_select_related = ("entry",)
    search_fields = ("=entry__id", "rater", "reason")
    date_hierarchy = "created_at"
    ordering = ("-created_at", "-pk")


@admin.register(MemoryExport)
class MemoryExportAdmin(ReadOnlyAdmin):
    """Who took memories out of the account in a file."""

    list_display = ("taken_by", "form", "number", "query", "created_at")
    list_filter = ("form",)
    search_fields = ("taken_by", "query")
    date_hierarchy = "created_at"
    ordering = ("-created_at", "-pk")


@admin.register(SavedView)
class SavedViewAdmin(ReadOnlyAdmin):
    """Views of the list that people keep."""

    list_display = ("name", "owner", "shared", "query", "created_at")
    list_filter = ("shared",)
    list_select_related = ("owner",)
    search_fields = ("name", "query")
    date_hierarchy = "created_at"
    ordering = ("name", "pk")


@admin.register(ErasedEntry)
class ErasedEntryAdmin(ReadOnlyAdmin):
    """That something was here."""

    list_display = ("id", "commit", "erased_at")
    list_select_related = ("commit",)
    search_fields = ("=id",)
    date_hierarchy = "erased_at"
    ordering = ("-erased_at",)


@admin.register(Triage)
class TriageAdmin(ReadOnlyAdmin):
    """Where proposals belong in the review queue."""

    list_display = ("entry", "need", "by_meaning", "version", "checked_at")
    list_filter = ("need", "by_meaning")
    list_select_related = ("entry",)
    search_fields = ("=entry__id",)
    date_hierarchy = "checked_at"
    ordering = ("-checked_at", "-pk")


@admin.register(Finding)
class FindingAdmin(ReadOnlyAdmin):
    """What to know of a proposal before deciding about it."""

    list_display = ("entry", "kind", "name", "other", "score", "created_at")
    list_filter = ("kind",)
    list_select_related = ("entry", "other")
    search_fields = ("=entry__id", "=other__id")
    date_hierarchy = "created_at"
    ordering = ("-created_at", "-pk")


@admin.register(TopicSuggestion)
class TopicSuggestionAdmin(ReadOnlyAdmin):
    """Topics that would be one, or two, if they were founded today."""

    list_display = ("topic", "kind", "other", "score", "state", "decided_by", "created_at")
    list_filter = ("kind", "state")
    list_select_related = ("topic", "other")
    search_fields = ("=topic__id", "=other__id")
    date_hierarchy = "created_at"
    ordering = ("-created_at", "-pk")


@admin.register(ReviewLease)
class ReviewLeaseAdmin(ReadOnlyAdmin):
    """Who has which proposal in hand."""

    list_display = ("entry", "holder", "until")
    list_select_related = ("entry",)
    search_fields = ("=entry__id", "holder")
    date_hierarchy = "until"
    ordering = ("-until", "-pk")
    hidden_fields = ("account", "token")


@admin.register(BulkRun)
class BulkRunAdmin(ReadOnlyAdmin):
    """Decisions about many proposals at once."""

    list_display = ("deed", "asked", "actor", "reason", "created_at", "undone_at")
    list_filter = ("deed",)
    search_fields = ("=id", "actor")
    date_hierarchy = "created_at"
    ordering = ("-created_at", "-pk")


@admin.register(BulkPart)
class BulkPartAdmin(ReadOnlyAdmin):
    """The parts that such decisions are made in."""

    list_display = ("run", "number", "done", "restored", "decided_in", "created_at")
    list_select_related = ("run",)
    search_fields = ("=run__id",)
    date_hierarchy = "created_at"
    ordering = ("-created_at", "-pk")


@admin.register(MemorySettings)
class MemorySettingsAdmin(ReadOnlyAdmin):
    """The account's policy, which is changed on its own page."""

    list_display = ("__str__", "memory_enabled", "auto_store", "version")


@admin.register(Extraction)
class ExtractionAdmin(ReadOnlyAdmin):
    """What was handed over to be read by a model."""

    list_display = ("id", "kind", "user_id", "agent_id", "problem", "created_at", "finished_at")
    list_filter = ("kind",)
    search_fields = ("=id", "=user_id", "=agent_id", "=run_id")
    date_hierarchy = "created_at"
    ordering = ("-created_at", "-pk")
