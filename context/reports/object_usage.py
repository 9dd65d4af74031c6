"""Usage of memories, passages, lore and rules in calls."""

from uuid import UUID

from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from context.models import ContextCostReport
from kmapp.web.object_usage import ObjectUsage, UsageEntry, list_object_parts, register_usage


@register_usage
def list_usage(account_id: UUID, pk: UUID, limit: int) -> ObjectUsage:
    """Return the latest calls that cite the object. Inside `acting`."""
    rows = ContextCostReport.objects.of(account_id).citing(list_object_parts(account_id, pk))
    latest = list(rows.briefly().newest_first()[: limit + 1])
    return ObjectUsage(
        label=_("Calls that cite it"),
        latest=[
            UsageEntry(
                at=row.created_at,
                by=row.conversation_id or row.agent_id,
                url=reverse("context:call", args=[row.pk]),
            )
            for row in latest[:limit]
        ],
        url=f"{reverse('context:calls')}?cites={pk}",
        more=len(latest) > limit,
    )
