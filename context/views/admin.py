"""Tool results, calls and settings of context, to be read."""

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
from kmapp.web.admin.base import ReadOnlyAdmin


@admin.register(ToolResultArchive)
class ToolResultArchiveAdmin(ReadOnlyAdmin):
    """What was kept apart from conversations."""

    list_display = ("__str__", "tool_name", "conversation_id", "result_length", "created_at")
    search_fields = ("=conversation_id", "=thread_id", "=tool_name", "=id")
    date_hierarchy = "created_at"
    ordering = ("-created_at", "-pk")
    hidden_fields = ("account", "sent_sha256")


@admin.register(ContextSettings)
class ContextSettingsAdmin(ReadOnlyAdmin):
    """The account's settings, which are changed on their own page."""

    hidden_fields = ("account", "remote_key")

    list_display = ("__str__", "archive_threshold", "retention_days", "version")


@admin.register(ContextCostReport)
class ContextCostReportAdmin(ReadOnlyAdmin):
    """The accounts of calls."""

    list_display = ("__str__", "agent_id", "model", "variant", "total", "created_at")
    search_fields = ("=conversation_id", "=agent_id", "=model", "=id")
    date_hierarchy = "created_at"
    ordering = ("-created_at", "-pk")


@admin.register(ContextCitation)
class ContextCitationAdmin(ReadOnlyAdmin):
    """Which call cites what."""

    list_display = ("ref", "report", "created_at")
    list_select_related = ("report",)
    search_fields = ("=ref", "=report__id")
    date_hierarchy = "created_at"
    ordering = ("-created_at", "-pk")


@admin.register(ContextInput)
class ContextInputAdmin(ReadOnlyAdmin):
    """What calls were made of."""

    list_display = ("__str__", "refs", "created_at")
    search_fields = ("=report__id",)
    date_hierarchy = "created_at"
    ordering = ("-created_at", "-pk")


@admin.register(ContextBody)
class ContextBodyAdmin(ReadOnlyAdmin):
    """Messages, tools and retrieved texts of calls."""

    list_display = ("id", "__str__", "used_on")
    search_fields = ("=id",)
    date_hierarchy = "used_on"
    ordering = ("-used_on", "-pk")


@admin.register(ContextSummary)
class ContextSummaryAdmin(ReadOnlyAdmin):
    """Summaries of conversations."""

    list_display = ("__str__", "conversation_id", "covers", "created_at")
    search_fields = ("=conversation_id", "=digest")
    date_hierarchy = "created_at"
    ordering = ("-created_at", "-pk")


@admin.register(ContextComparison)
class ContextComparisonAdmin(ReadOnlyAdmin):
    """Two policies compared over recorded calls."""

    list_display = ("__str__", "agent_id", "model", "total", "created_at")
    search_fields = ("=id",)
    date_hierarchy = "created_at"
    ordering = ("-created_at", "-pk")


@admin.register(ContextDifference)
class ContextDifferenceAdmin(ReadOnlyAdmin):
    """What came out, call by call."""

    list_display = ("__str__", "comparison_id", "report_id", "evidence_lost")
    list_filter = ("fits_after", "is_same")
    search_fields = ("=comparison__id", "=report__id")
    date_hierarchy = "comparison__created_at"
    ordering = ("-size", "pk")
