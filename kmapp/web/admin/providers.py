"""Admin of embedding models. `manage.py embedding_models` changes them."""

from django.contrib import admin

from kmapp.providers.models import EmbeddingModel
from kmapp.web.admin.base import ReadOnlyAdmin


@admin.register(EmbeddingModel)
class EmbeddingModelAdmin(ReadOnlyAdmin):
    """Embedding models and their states."""

    list_display = ("name", "dimensions", "state", "passage_template", "created_at")
    list_filter = ("state",)
    search_fields = ("name",)
    date_hierarchy = "created_at"
