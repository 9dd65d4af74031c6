"""Tool results and settings of context, to be read."""

from django.contrib import admin

from context.models import ContextSettings, ToolResultArchive
from kmapp.admin import ReadOnly


@admin.register(ToolResultArchive)
class ToolResultArchiveAdmin(ReadOnly):
    """What was kept apart from conversations."""

    list_display = ("__str__", "tool_name", "conversation_id", "result_length", "created_at")
    search_fields = ("=conversation_id", "=thread_id", "=tool_name", "=id")
    date_hierarchy = "created_at"
    ordering = ("-created_at", "-pk")
    left_out = ("account", "sent_sha256")


@admin.register(ContextSettings)
class ContextSettingsAdmin(ReadOnly):
    """The account's settings, which are changed on their own page."""

    list_display = ("__str__", "archive_threshold", "retention_days", "version")
