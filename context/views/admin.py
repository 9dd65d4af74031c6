"""Admin pages of context; read-only."""

from django.contrib import admin

from context.models import (
    ContextBody,
    ContextCitation,
    ContextComparison,
    ContextCostReport,
    ContextDifference,
    ContextInput,
    ContextSettings,
    ContextSummary,
    ToolResultArchive,
)
from kmapp.web.admin.base import NewestFirstAdmin, ReadOnlyAdmin


@admin.register(ToolResultArchive)
class ToolResultArchiveAdmin(NewestFirstAdmin):
    list_display = ("__str__", "tool_name", "conversation_id", "result_length", "created_at")
    search_fields = ("=conversation_id", "=thread_id", "=tool_name", "=id")
    hidden_fields = ("account", "sent_sha256")


@admin.register(ContextSettings)
class ContextSettingsAdmin(ReadOnlyAdmin):
    date_hierarchy = None
    hidden_fields = ("account", "remote_key")
    list_display = ("__str__", "archive_threshold", "retention_days", "version")


@admin.register(ContextCostReport)
class ContextCostReportAdmin(NewestFirstAdmin):
    list_display = ("__str__", "agent_id", "model", "variant", "total", "created_at")
    search_fields = ("=conversation_id", "=agent_id", "=model", "=id")


@admin.register(ContextCitation)
class ContextCitationAdmin(NewestFirstAdmin):
    list_display = ("ref", "report", "created_at")
    search_fields = ("=ref", "=report__id")


@admin.register(ContextInput)
class ContextInputAdmin(NewestFirstAdmin):
    list_display = ("__str__", "refs", "created_at")
    search_fields = ("=report__id",)


@admin.register(ContextBody)
class ContextBodyAdmin(ReadOnlyAdmin):
    list_display = ("id", "__str__", "used_on")
    search_fields = ("=id",)
    date_hierarchy = "used_on"
    ordering = ("-used_on", "-pk")


@admin.register(ContextSummary)
class ContextSummaryAdmin(NewestFirstAdmin):
    list_display = ("__str__", "conversation_id", "covers", "created_at")
    search_fields = ("=conversation_id", "=digest")


@admin.register(ContextComparison)
class ContextComparisonAdmin(NewestFirstAdmin):
    list_display = ("__str__", "agent_id", "model", "total", "created_at")
    search_fields = ("=id",)


@admin.register(ContextDifference)
class ContextDifferenceAdmin(ReadOnlyAdmin):
    list_display = ("__str__", "comparison_id", "report_id", "evidence_lost")
    list_filter = ("fits_after", "is_same")
    search_fields = ("=comparison__id", "=report__id")
    date_hierarchy = "comparison__created_at"
    ordering = ("-size", "pk")
