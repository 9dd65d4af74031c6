"""Links to memories from texts, as [[memory:ID]], and texts of documents about memories."""

from collections.abc import Collection, Mapping
from uuid import UUID

from django.urls import reverse
from django.utils.translation import gettext as _

from kmapp.web.object_links import ObjectLink, ObjectText, register_links, register_text
from memory.actions.topic_growth import member_edges
from memory.models import MemoryEntry

MAX_TEXT_LENGTH = 80  # characters of a title
MAX_MEMBERS = 200  # memories of a topic


@register_links("memory")
def load_links(account_id: UUID, ids: Collection[UUID]) -> Mapping[UUID, ObjectLink]:
    rows = MemoryEntry.objects.of(account_id).filter(pk__in=ids).only("title", "content")
    return {
        row.pk: ObjectLink(title=_format_title(row), url=reverse("memory:entry", args=[row.pk]))
        for row in rows
    }


@register_text("memory")
def load_text(account_id: UUID, pk: UUID) -> ObjectText | None:
    """Return the content of a memory, or the memories of a topic, with links back to them."""
    row = MemoryEntry.objects.of(account_id).filter(pk=pk).first()
    if row is None:
        return None
    warning = ""
    if row.visibility != MemoryEntry.Visibility.ACCOUNT:
        warning = _("This memory is not visible to everyone, but all agents can find a document.")
    if row.kind != MemoryEntry.Kind.TOPIC:
        text = f"{row.content}\n\n{_('Source')}: [[memory:{pk}]]\n"
        return ObjectText(title=_format_title(row), text=text, warning=warning)
    active = {"src__status": MemoryEntry.Status.ACTIVE}
    edges = member_edges(account_id, pk).filter(**active).select_related("src")
    members = [edge.src for edge in edges.order_by("src__observed_at", "src_id")[:MAX_MEMBERS]]
    label = _("Memory")
    lines = [
        f"- {' '.join(each.content.split())} ([[memory:{each.pk}|{label}]])" for each in members
    ]
    text = "\n".join([*lines, "", f"{_('Source')}: [[memory:{pk}]]", ""])
    return ObjectText(title=_format_title(row), text=text, warning=warning)


def _format_title(row: MemoryEntry) -> str:
    return " ".join((row.title or row.content).split())[:MAX_TEXT_LENGTH]
