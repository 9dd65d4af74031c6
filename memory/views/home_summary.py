"""Section of the home page: pending proposals and recent activity."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.db.models import Min, TextField
from django.db.models.functions import Cast
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from kmapp.providers.active import active_model
from kmapp.search.models import Vector
from kmapp.web.actor_names import list_actor_names
from kmapp.web.http import WebRequest, account_id_for, fragment, respond_unless_unchanged
from kmapp.web.page_access import reviewer_required
from memory.models import MemoryEntry, MemoryVersion
from memory.views.review_queue import decided_today

LATEST = 8
TIME_BITS = 80  # of an id lie below its time, which is in milliseconds


@require_safe
@reviewer_required
def summary(request: WebRequest) -> HttpResponse:
    account_id = account_id_for(request)
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
        "first_command": _first_command(request),
    }
    template = fragment(request, "memory/summary/index.html", "panel")
    return respond_unless_unchanged(request, render(request, template, context))


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


def _first_command(request: WebRequest) -> str:
    """Return the example command of an empty account."""
    address = request.build_absolute_uri(reverse("memory:api_store"))
    return (
        f"curl -s {address} -H 'Authorization: Bearer YOUR_KEY' "
        "-H 'Content-Type: application/json' "
        """-d '{"text": "The tea room opens at nine."}'"""
    )
