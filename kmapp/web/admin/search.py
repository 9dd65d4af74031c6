"""Admin of vectors. Postings have a composite key, which the admin of Django 5.2 cannot show."""

from django.contrib import admin

from kmapp.search.models import Vector
from kmapp.web.admin.base import ReadOnlyAdmin


@admin.register(Vector)
class VectorAdmin(ReadOnlyAdmin):
    """States of vectors. The embeddings are never displayed."""

    list_display = ("collection", "object_id", "part", "model", "state", "ready_at", "error")
    list_filter = ("state", "collection", "model")
    list_select_related = ("model",)
    search_fields = ("=object_id", "^text_sha256")
    date_hierarchy = "ready_at"
    ordering = ("-id",)
    hidden_fields = ("account", "embedding")
