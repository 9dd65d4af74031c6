"""Django admin of knowledge, read-only."""

from django.contrib import admin

from kmapp.web.admin.base import NewestFirstAdmin, ReadOnlyAdmin
from knowledge.models import (
    ErasedKnowledge,
    KnowledgeChunk,
    KnowledgeDocument,
    KnowledgeDraft,
    KnowledgeImage,
    KnowledgePiece,
    KnowledgeQuestion,
    KnowledgeSource,
    KnowledgeText,
    LorebookEntry,
)


@admin.register(KnowledgeSource)
class KnowledgeSourceAdmin(ReadOnlyAdmin):
    list_display = ("name", "kind", "trust", "scope", "revision", "refreshed_at")
    list_filter = ("kind", "trust")
    search_fields = ("name", "ref")
    ordering = ("name", "pk")


@admin.register(KnowledgeDocument)
class KnowledgeDocumentAdmin(ReadOnlyAdmin):
    list_display = ("__str__", "source", "mime", "state", "version", "size", "updated_at")
    list_filter = ("state", "mime")
    search_fields = ("ref", "title", "=sha256")
    date_hierarchy = "updated_at"
    ordering = ("-updated_at", "-pk")


@admin.register(KnowledgeText)
class KnowledgeTextAdmin(NewestFirstAdmin):
    list_display = ("document", "version", "shape", "revision", "created_at")
    list_filter = ("shape",)
    search_fields = ("=document__id", "=sha256")
    hidden_fields = ("account", "text")


@admin.register(KnowledgePiece)
class KnowledgePieceAdmin(NewestFirstAdmin):
    list_display = ("document", "number", "created_at")
    search_fields = ("=document__id",)
    hidden_fields = ("account", "data")


@admin.register(KnowledgeDraft)
class KnowledgeDraftAdmin(ReadOnlyAdmin):
    list_display = ("document", "owner", "base_version", "updated_at")
    search_fields = ("=document__id",)
    date_hierarchy = "updated_at"
    ordering = ("-updated_at", "-pk")
    hidden_fields = ("account", "source_name", "folder", "title", "text")


@admin.register(KnowledgeImage)
class KnowledgeImageAdmin(NewestFirstAdmin):
    list_display = ("sha256", "mime", "size", "created_by", "created_at")
    search_fields = ("=sha256",)
    hidden_fields = ("account", "data")


@admin.register(KnowledgeChunk)
class KnowledgeChunkAdmin(NewestFirstAdmin):
    list_display = ("document", "chunk_index", "index_version", "line_start", "page", "created_at")
    list_filter = ("index_version",)
    search_fields = ("=document__id", "=sha256")


@admin.register(LorebookEntry)
class LorebookEntryAdmin(ReadOnlyAdmin):
    list_display = ("__str__", "source", "enabled", "constant", "priority", "order", "updated_at")
    list_filter = ("enabled", "constant", "regex")
    search_fields = ("name", "content")
    date_hierarchy = "updated_at"
    ordering = ("source", "order", "pk")


@admin.register(ErasedKnowledge)
class ErasedKnowledgeAdmin(ReadOnlyAdmin):
    list_display = ("id", "commit", "erased_at")
    search_fields = ("=id",)
    date_hierarchy = "erased_at"
    ordering = ("-erased_at",)


@admin.register(KnowledgeQuestion)
class KnowledgeQuestionAdmin(NewestFirstAdmin):
    list_display = ("text", "created_by", "created_at")
    search_fields = ("text",)
