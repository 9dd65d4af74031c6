"""Links to memories from texts, as [[memory:ID]]."""

from collections.abc import Collection, Mapping
from uuid import UUID

from django.urls import reverse

from kmapp.web.object_links import ObjectLink, register_links
from memory.models import MemoryEntry

LENGTH = 80  # characters of a title


@register_links("memory")
def load_links(account_id: UUID, ids: Collection[UUID]) -> Mapping[UUID, ObjectLink]:
    rows = MemoryEntry.objects.of(account_id).filter(pk__in=ids).only("title", "content")
    return {
        row.pk: ObjectLink(
            title=(row.title or row.content)[:LENGTH], url=reverse("memory:entry", args=[row.pk])
        )
        for row in rows
    }
