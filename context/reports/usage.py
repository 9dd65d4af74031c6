"""Where memories, passages, lore and rules were used: in which calls."""

from uuid import UUID

from django.urls import reverse

from context.models import ContextCostReport
from kmapp.web.usage_registry import Usage, UsageEntry, register_usage


@register_usage
def uses_in_calls(account_id: UUID, pk: UUID, limit: int) -> Usage:
    """The latest calls that cite it. Inside `acting`."""
    rows = ContextCostReport.objects.of(account_id).citing(pk).briefly().newest_first()
    found = list(rows[: limit + 1])
    return Usage(
        latest=[
            UsageEntry(
                at=row.created_at,
                by=row.conversation_id or row.agent_id,
                url=reverse("context:call", args=[row.pk]),
            )
            for row in found[:limit]
        ],
        url=f"{reverse('context:calls')}?cites={pk}",
        more=len(found) > limit,
    )
