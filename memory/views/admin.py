"""Django admin of memories, versions and edges, with the actions of the review."""

from collections.abc import Callable
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from kmapp.web.admin.base import NewestFirstAdmin, ReadOnlyAdmin
from kmapp.web.after_commit import AfterCommitResponse
from kmapp.web.http import as_web_request
from memory import models
from memory.actions import review
from memory.actions.review import Decision


def _build_action(
    decide: Callable[[Decision], models.MemoryEntry], label: Any, permission: str
) -> Any:

    @admin.action(description=label, permissions=[permission])
    def action(
        model_admin: NewestFirstAdmin, request: HttpRequest, rows: QuerySet[models.MemoryEntry]
    ) -> AfterCommitResponse | None:
        actor = as_web_request(request).actor
        return model_admin.apply_to_each(
            request, rows, lambda entry: decide(Decision.about(entry, actor))
        )

    return action


@admin.register(models.MemoryEntry)
class MemoryEntryAdmin(NewestFirstAdmin):
    list_display = ("__str__", "kind", "status", "visibility", "user_id", "pinned", "created_at")
    list_filter = ("status", "kind", "visibility", "tier", "pinned")
    search_fields = ("content", "title", "=client_id", "=user_id", "=run_id")
    hidden_fields = ("account", "written_sha256")
    actions = ("approve", "reject", "pin", "forget")

    approve = _build_action(review.approve, _("Approve"), "review")
    reject = _build_action(review.reject, _("Reject"), "review")
    pin = _build_action(review.pin, _("Pin"), "edit")
    forget = _build_action(review.forget, _("Forget"), "edit")


@admin.register(models.MemoryEdge)
class MemoryEdgeAdmin(NewestFirstAdmin):
    list_display = ("src", "type", "dst", "weight", "origin", "created_at")
    list_filter = ("type", "origin")
    search_fields = ("=src__id", "=dst__id")


@admin.register(models.MemoryVersion)
class MemoryVersionAdmin(NewestFirstAdmin):
    list_display = ("entry", "version", "event", "actor", "reason", "created_at")
    list_filter = ("event",)
    search_fields = ("=entry__id", "actor", "reason")


@admin.register(models.MemoryRating)
class MemoryRatingAdmin(NewestFirstAdmin):
    list_display = ("entry", "outcome", "rater", "used_in", "reason", "created_at")
    list_filter = ("outcome",)
    search_fields = ("=entry__id", "rater", "reason")


@admin.register(models.Judgement)
class JudgementAdmin(NewestFirstAdmin):
    list_display = ("entry", "question", "label", "source", "judged_by", "created_at")
    list_filter = ("label", "source")
    search_fields = ("=entry__id", "question", "judged_by")


@admin.register(models.Ranking)
class RankingAdmin(NewestFirstAdmin):
    list_display = ("number", "status", "created_by", "created_at", "activated_at")
    list_filter = ("status",)
    search_fields = ("=id", "created_by")


@admin.register(models.RankingComparison)
class RankingComparisonAdmin(NewestFirstAdmin):
    list_display = ("question", "ranking", "origin", "changed", "created_at")
    list_filter = ("origin",)
    search_fields = ("=ranking__id", "question")


@admin.register(models.MemoryExport)
class MemoryExportAdmin(NewestFirstAdmin):
    list_display = ("taken_by", "form", "number", "query", "created_at")
    list_filter = ("form",)
    search_fields = ("taken_by", "query")


@admin.register(models.SavedView)
class SavedViewAdmin(ReadOnlyAdmin):
    list_display = ("name", "owner", "shared", "query", "created_at")
    list_filter = ("shared",)
    search_fields = ("name", "query")
    ordering = ("name", "pk")


@admin.register(models.ErasedEntry)
class ErasedEntryAdmin(ReadOnlyAdmin):
    list_display = ("id", "commit", "erased_at")
    search_fields = ("=id",)
    date_hierarchy = "erased_at"
    ordering = ("-erased_at",)


@admin.register(models.Triage)
class TriageAdmin(ReadOnlyAdmin):
    list_display = ("entry", "need", "by_meaning", "version", "checked_at")
    list_filter = ("need", "by_meaning")
    search_fields = ("=entry__id",)
    date_hierarchy = "checked_at"
    ordering = ("-checked_at", "-pk")


@admin.register(models.Finding)
class FindingAdmin(NewestFirstAdmin):
    list_display = ("entry", "kind", "name", "other", "score", "created_at")
    list_filter = ("kind",)
    search_fields = ("=entry__id", "=other__id")


@admin.register(models.TopicSuggestion)
class TopicSuggestionAdmin(NewestFirstAdmin):
    list_display = ("topic", "kind", "other", "score", "state", "decided_by", "created_at")
    list_filter = ("kind", "state")
    search_fields = ("=topic__id", "=other__id")


@admin.register(models.ReviewLease)
class ReviewLeaseAdmin(ReadOnlyAdmin):
    list_display = ("entry", "holder", "until")
    search_fields = ("=entry__id", "holder")
    date_hierarchy = "until"
    ordering = ("-until", "-pk")
    hidden_fields = ("account", "token")


@admin.register(models.BulkRun)
class BulkRunAdmin(NewestFirstAdmin):
    list_display = ("deed", "asked", "actor", "reason", "created_at", "undone_at")
    list_filter = ("deed",)
    search_fields = ("=id", "actor")


@admin.register(models.BulkPart)
class BulkPartAdmin(NewestFirstAdmin):
    list_display = ("run", "number", "done", "restored", "decided_in", "created_at")
    search_fields = ("=run__id",)


@admin.register(models.MemorySettings)
class MemorySettingsAdmin(ReadOnlyAdmin):
    date_hierarchy = None
    list_display = ("__str__", "memory_enabled", "auto_store", "version")


@admin.register(models.Extraction)
class ExtractionAdmin(NewestFirstAdmin):
    list_display = ("id", "kind", "user_id", "agent_id", "problem", "created_at", "finished_at")
    list_filter = ("kind",)
    search_fields = ("=id", "=user_id", "=agent_id", "=run_id")
