"""Admin of the outbox."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from kmapp.outbox.actions import replay
from kmapp.outbox.models import Delivery, OutboxEvent
from kmapp.web.admin.base import ReadOnlyAdmin, as_admin_request


@admin.register(OutboxEvent)
class OutboxEventAdmin(ReadOnlyAdmin):
    """Published events, which never change."""

    list_display = ("topic", "job_key", "created_at")
    list_filter = ("topic",)
    search_fields = ("^job_key",)
    date_hierarchy = "created_at"
    ordering = ("-created_at",)


@admin.register(Delivery)
class DeliveryAdmin(ReadOnlyAdmin):
    """Deliveries of events to handlers. Failed ones can be retried."""

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
    list_select_related = ("event",)
    search_fields = ("^event__job_key", "last_error")
    date_hierarchy = "due_at"
    ordering = ("-due_at",)
    actions = ("try_again",)

    @admin.action(description=_("Retry failed deliveries"), permissions=["manage"])
    def try_again(self, request: HttpRequest, rows: QuerySet[Delivery]) -> None:
        retried = replay(
            as_admin_request(request).access.account_id, list(rows.values_list("pk", flat=True))
        )
        self.report_changed(request, retried)
