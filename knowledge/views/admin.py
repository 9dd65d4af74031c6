"""Django admin of knowledge, read-only."""

from django.contrib import admin

from kmapp.web.admin.base import ReadOnlyAdmin
from knowledge.models import (
    ErasedKnowledge,
    KnowledgeChunk,
    KnowledgeDocument,
    KnowledgePiece,
    KnowledgeQuestion,
    KnowledgeSource,
    KnowledgeText,
    LorebookEntry,
)


@admin.register(KnowledgeSource)
class KnowledgeSourceAdmin(ReadOnlyAdmin):
    """Where documents come from."""

    list_display = ("name", "kind", "trust", "scope", "revision", "refreshed_at")
    list_filter = ("kind", "trust")
    search_fields = ("name", "ref")
    date_hierarchy = "created_at"
    ordering = ("name", "pk")


@admin.register(KnowledgeDocument)
class KnowledgeDocumentAdmin(ReadOnlyAdmin):
    """Files, pages and uploads."""

    list_display = ("__str__", "source", "mime", "state", "version", "size", "updated_at")
    list_filter = ("state", "mime")
    list_select_related = ("source",)
    search_fields = ("ref", "title", "=sha256")
    date_hierarchy = "updated_at"
    ordering = ("-updated_at", "-pk")


@admin.register(KnowledgeText)
class KnowledgeTextAdmin(ReadOnlyAdmin):
    """What documents said, version by version."""

    list_display = ("document", "version", "shape", "revision", "created_at")
    list_filter = ("shape",)
    list_select_related = ("document",)
    search_fields = ("=document__id", "=sha256")
    date_hierarchy = "created_at"
    ordering = ("-created_at", "-pk")
    hidden_fields = ("account", "text")


@admin.register(KnowledgePiece)
class KnowledgePieceAdmin(ReadOnlyAdmin):
    """Files that a reader needs, in pieces; their bytes are never shown."""

    list_display = ("document", "number", "created_at")
    list_select_related = ("document",)
    search_fields = ("=document__id",)
    date_hierarchy = "created_at"
    ordering = ("-created_at", "-pk")
    hidden_fields = ("account", "data")


@admin.register(KnowledgeChunk)
class KnowledgeChunkAdmin(ReadOnlyAdmin):
    """What is searched."""

    list_display = ("document", "chunk_index", "index_version", "line_start", "page", "created_at")
    list_filter = ("index_version",)
    list_select_related = ("document",)
    search_fields = ("=document__id", "=sha256")
    date_hierarchy = "created_at"
    ordering = ("-created_at", "-pk")


@admin.register(LorebookEntry)
class LorebookEntryAdmin(ReadOnlyAdmin):
    """Texts that conversations call up."""

    list_display = ("__str__", "source", "enabled", "constant", "priority", "order", "updated_at")
    list_filter = ("enabled", "constant", "regex")
    list_select_related = ("source",)
    search_fields = ("name", "content")
    date_hierarchy = "updated_at"
    ordering = ("source", "order", "pk")


@admin.register(ErasedKnowledge)
class ErasedKnowledgeAdmin(ReadOnlyAdmin):
    """That something was here."""

    list_display = ("id", "commit", "erased_at")
    list_select_related = ("commit",)
    search_fields = ("=id",)
    date_hierarchy = "erased_at"
    ordering = ("-erased_at",)


@admin.register(KnowledgeQuestion)
class KnowledgeQuestionAdmin(ReadOnlyAdmin):
    """Questions that people ask of two variants."""

    list_display = ("text", "created_by", "created_at")
    search_fields = ("text",)
    date_hierarchy = "created_at"
    ordering = ("-created_at", "-pk")
