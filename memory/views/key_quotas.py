"""What a key may still write, for the page of keys."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from django.utils.translation import gettext_lazy as _

from kmapp.web.quotas import Quota, register_quotas
from memory.actions.quotas import used
from memory.models import MemorySettings


@register_quotas
def quotas_of_memory(account_id: UUID, keys: Sequence[UUID]) -> Mapping[UUID, Sequence[Quota]]:
    settings = MemorySettings.objects.here(account_id)
    return {
        pk: [
            Quota(label=_("written today"), used=of.written, limit=settings.most_written),
            Quota(label=_("wait for a person"), used=of.waiting, limit=settings.most_waiting),
        ]
        for pk, of in used(account_id, keys).items()
    }
