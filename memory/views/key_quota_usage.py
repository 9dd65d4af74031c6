"""Memory quotas on the page of API keys."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from django.utils.translation import gettext_lazy as _

from kmapp.web.key_quota_registry import Quota, register_quotas
from memory.actions.quotas import list_quota_usage
from memory.models import MemorySettings


@register_quotas
def load_memory_quotas(account_id: UUID, keys: Sequence[UUID]) -> Mapping[UUID, Sequence[Quota]]:
    settings = MemorySettings.objects.get_or_default(account_id)
    return {
        pk: [
            Quota(label=_("written today"), used=written, limit=settings.daily_write_limit),
            Quota(label=_("pending review"), used=waiting, limit=settings.open_proposal_limit),
        ]
        for pk, (written, waiting) in list_quota_usage(account_id, keys).items()
    }
