"""Admin of the kernel's tables, except people and keys."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from kmapp.accounts.company_sign_in.models import CompanyIdentity, CompanySignIn
from kmapp.api.models import IdempotentRequest
from kmapp.ledger.models import Checkpoint, Commit, Note, Seal
from kmapp.notifications.webhooks.models import Webhook
from kmapp.outbox.failed_deliveries import retry_deliveries
from kmapp.outbox.models import Delivery, OutboxEvent
from kmapp.providers.models import EmbeddingModel
from kmapp.search.models import Vector
from kmapp.web.admin.base import NewestFirstAdmin, ReadOnlyAdmin
from kmapp.web.http import as_web_request


@admin.register(Commit)
class CommitAdmin(ReadOnlyAdmin):
    list_display = ("seq", "commit_hash", "actor", "created_at")
    search_fields = ("=seq", "^commit_hash", "actor")
    ordering = ("-seq",)


@admin.register(Seal)
class SealAdmin(ReadOnlyAdmin):
    list_display = ("commit", "object_type", "object_id", "op")
    list_filter = ("object_type", "op")
    search_fields = ("=object_id",)
    date_hierarchy = "commit__created_at"
    ordering = ("-commit__seq",)
    hidden_fields = ("account", "salt")


@admin.register(Note)
class NoteAdmin(ReadOnlyAdmin):
    list_display = ("commit", "commit__actor", "commit__created_at", "reason")
    search_fields = ("reason",)
    date_hierarchy = "commit__created_at"
    ordering = ("-commit__seq",)
    hidden_fields = ("account", "salt")


@admin.register(Checkpoint)
class CheckpointAdmin(ReadOnlyAdmin):
    list_display = ("seq", "commit_hash", "created_at", "key_id")
    list_filter = ("key_id",)
    search_fields = ("=seq", "^commit_hash")
    ordering = ("-seq",)


@admin.register(OutboxEvent)
class OutboxEventAdmin(NewestFirstAdmin):
    list_display = ("topic", "job_key", "created_at")
    list_filter = ("topic",)
    search_fields = ("^job_key",)


@admin.register(Delivery)
class DeliveryAdmin(ReadOnlyAdmin):
    list_display = (
        "handler",
        "event",
        "state",
        "attempts",
        "due_at",
        "done_at",
        "failed_at",
        "reason",
    )
    list_filter = (
        "handler",
        "queue",
        ("done_at", admin.EmptyFieldListFilter),
        ("failed_at", admin.EmptyFieldListFilter),
    )
    search_fields = ("^event__job_key", "last_error")
    date_hierarchy = "due_at"
    ordering = ("-due_at",)
    actions = ("try_again",)

    @admin.action(description=_("Retry failed deliveries"), permissions=["manage"])
    def try_again(self, request: HttpRequest, rows: QuerySet[Delivery]) -> None:
        retried = retry_deliveries(
            as_web_request(request).account_id, list(rows.values_list("pk", flat=True))
        )
        self.report_changed(request, retried)


@admin.register(IdempotentRequest)
class IdempotentRequestAdmin(NewestFirstAdmin):
    list_display = ("idempotency_key", "key_id", "state", "status", "created_at", "expires_at")
    list_filter = ("state", "status")
    search_fields = ("^idempotency_key",)
    hidden_fields = ("account", "fingerprint", "lease_token")


@admin.register(EmbeddingModel)
class EmbeddingModelAdmin(ReadOnlyAdmin):
    list_display = ("name", "dimensions", "state", "passage_template", "created_at")
    list_filter = ("state",)
    search_fields = ("name",)


@admin.register(Vector)
class VectorAdmin(ReadOnlyAdmin):
    list_display = ("collection", "object_id", "part", "model", "state", "ready_at", "error")
    list_filter = ("state", "collection", "model")
    search_fields = ("=object_id", "^text_sha256")
    date_hierarchy = "ready_at"
    ordering = ("-id",)
    hidden_fields = ("account", "embedding")


@admin.register(Webhook)
class WebhookAdmin(ReadOnlyAdmin):
    list_display = ("name", "url", "event_types", "is_active", "last_attempt_at", "last_error")
    list_filter = ("is_active", "payload_format")
    search_fields = ("name", "url")
    hidden_fields = ("account", "secret")


@admin.register(CompanySignIn)
class CompanySignInAdmin(ReadOnlyAdmin):
    list_display = ("name", "issuer", "is_active", "allows_password", "updated_at")
    list_filter = ("is_active",)
    search_fields = ("name", "issuer")
    hidden_fields = ("account", "client_secret")


@admin.register(CompanyIdentity)
class CompanyIdentityAdmin(ReadOnlyAdmin):
    list_display = ("user", "subject", "by_person", "created_at")
    list_filter = ("by_person",)
    search_fields = ("=subject", "user__email")
