"""Home page section of pending proposals and recent activity."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.db.models import Min, QuerySet, TextField
from django.db.models.functions import Cast
from django.http import HttpResponse

from kmapp.providers.active_models import active_model
from kmapp.search.models import Vector
from kmapp.web.actor_names import list_actor_names
from kmapp.web.bounded_counts import count_figures, is_exact
from kmapp.web.http import WebRequest
from kmapp.web.page_access import page_view
from kmapp.web.responses import format_api_command, render_polled
from memory.models import MemoryEntry, MemoryVersion
from memory.views.review_queue import decided_today, midnight

FIRST_MEMORY = '{"text": "The tea room opens at nine."}'
MAX_LATEST = 8
BITS_BELOW_TIME = 80  # bits of an id (UUIDv7) below its time, which is in milliseconds


@page_view("GET")
def summary(request: WebRequest) -> HttpResponse:
    account_id = request.account_id
    rows = MemoryEntry.objects.of(account_id)
    waiting = rows.awaiting_review()
    latest = MemoryVersion.objects.of(account_id).select_related("entry").order_by("-created_at")
    recent_commits = list(latest[:MAX_LATEST])
    unembedded = Vector.objects.of(account_id).filter(
        state=Vector.State.PENDING, model=active_model()
    )
    counted: dict[str, QuerySet[Any, Any]] = {
        "waiting": waiting,
        "written": rows.filter(created_at__gte=midnight()),
        "active": rows.filter(status=MemoryEntry.Status.ACTIVE),
        "unembedded": unembedded,
    }
    figures = count_figures(counted)
    context = {
        **figures,
        "oldest": waiting.first(),
        "decided": decided_today(account_id),
        "unembedded_since": _find_oldest(unembedded) if is_exact(figures["unembedded"]) else None,
        "happened": recent_commits,
        "names": list_actor_names(step.actor for step in recent_commits),
        "first_command": format_api_command(request, "memory:api_store", FIRST_MEMORY),
    }
    return render_polled(request, "memory/summary/index.html", context, part="panel")


def _find_oldest(unembedded: QuerySet[Vector]) -> datetime | None:
    """Return the creation time of the oldest of these vectors."""
    # PostgreSQL has no min() of UUIDs, so compare them as text.
    oldest = unembedded.aggregate(oldest=Min(Cast("pk", TextField())))["oldest"]
    created = UUID(oldest).int >> BITS_BELOW_TIME if oldest else None
    return datetime.fromtimestamp(created / 1000, UTC) if created else None
