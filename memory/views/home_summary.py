"""Section of the home page: pending proposals and recent activity."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.db.models import Min, TextField
from django.db.models.functions import Cast
from django.http import HttpResponse
from django.utils import timezone

from kmapp.providers.active import active_model
from kmapp.search.models import Vector
from kmapp.web.actor_names import list_actor_names
from kmapp.web.http import WebRequest
from kmapp.web.page_access import page_view
from kmapp.web.responses import format_api_command, render_polled
from memory.models import MemoryEntry, MemoryVersion
from memory.views.review_queue import decided_today

FIRST_MEMORY = '{"text": "The tea room opens at nine."}'
LATEST = 8
TIME_BITS = 80  # of an id lie below its time, which is in milliseconds


@page_view("GET")
def summary(request: WebRequest) -> HttpResponse:
    account_id = request.account_id
    rows = MemoryEntry.objects.of(account_id)
    waiting = rows.awaiting_review()
    latest = MemoryVersion.objects.of(account_id).select_related("entry").order_by("-created_at")
    happened = list(latest[:LATEST])
    context = {
        "waiting": waiting.count(),
        "oldest": waiting.first(),
        "decided": decided_today(account_id),
        "written": rows.filter(created_at__gte=_midnight()).count(),
        "active": rows.filter(status=MemoryEntry.Status.ACTIVE).count(),
        **_unembedded(account_id),
        "happened": happened,
        "names": list_actor_names(step.actor for step in happened),
        "first_command": format_api_command(request, "memory:api_store", FIRST_MEMORY),
    }
    return render_polled(request, "memory/summary/index.html", context, part="panel")


def _midnight() -> datetime:
    return timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)


def _unembedded(account_id: UUID) -> dict[str, Any]:
    """Texts that wait for their vector, and since when: an id holds the time it was made."""
    rows = Vector.objects.of(account_id).filter(state=Vector.State.PENDING, model=active_model())
    # As text: Postgres knows no least uuid.
    oldest = rows.aggregate(oldest=Min(Cast("pk", TextField())))["oldest"]
    created = UUID(oldest).int >> TIME_BITS if oldest else None
    since = datetime.fromtimestamp(created / 1000, UTC) if created else None
    return {"unembedded": rows.count(), "unembedded_since": since}
