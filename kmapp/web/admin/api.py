"""Admin of stored responses to idempotent requests."""

from django.contrib import admin

from kmapp.api.models import IdempotentRequest
from kmapp.web.admin.base import ReadOnlyAdmin


@admin.register(IdempotentRequest)
class IdempotentRequestAdmin(ReadOnlyAdmin):
    """Requests that can be repeated, and until when."""

    list_display = ("idempotency_key", "key_id", "state", "status", "created_at", "expires_at")
    list_filter = ("state", "status")
    search_fields = ("^idempotency_key",)
    date_hierarchy = "created_at"
    ordering = ("-created_at",)
    hidden_fields = ("account", "fingerprint", "lease_token")
