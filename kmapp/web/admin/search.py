"""Derived rows of search. Postings have a composite key, which Django 5.2's admin cannot show."""

from django.contrib import admin

from kmapp.search.models import Vector
from kmapp.web.admin.base import ReadOnlyAdmin


@admin.register(Vector)
class VectorAdmin(ReadOnlyAdmin):
    """How far the vectors are; their numbers are never shown."""

    list_display = ("collection", "object_id", "part", "model", "state", "ready_at", "error")
    list_filter = ("state", "collection", "model")
    list_select_related = ("model",)
    search_fields = ("=object_id", "^text_sha256")
    date_hierarchy = "ready_at"
    ordering = ("-id",)
    hidden_fields = ("account", "embedding")
