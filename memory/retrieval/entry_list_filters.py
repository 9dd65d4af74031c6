"""Filters of the list of memories. The URL holds their state."""

from django.db.models import Exists, OuterRef, QuerySet
from django.utils.translation import gettext_lazy as _

from kmapp.providers.active_models import active_model
from kmapp.search.models import Vector
from kmapp.web.filters import Filters, choice, from_day, text, until_day
from memory.models import MemoryEntry
from memory.models.entries import COLLECTION

Rows = QuerySet[MemoryEntry]
State = Vector.State


class EntryFilter(Filters):
    """Filters of memories, all of which must match.

    Status, user, agent and run have an index; the others narrow the account's rows as they are
    read, newest first.
    """

    first_fields = frozenset({"status", "kind", "user_id"})

    status = choice(_("Status"), MemoryEntry.Status.choices)
    kind = choice(_("Kind"), MemoryEntry.Kind.choices)
    visibility = choice(_("Visible to"), MemoryEntry.Visibility.choices)
    user_id = text(_("User"))
    agent_id = text(_("Agent"))
    run_id = text(_("Session"))
    tag = text(_("Tag"), method="filter_by_tag")
    pinned = choice(_("Pinned"), [("true", _("pinned"))], method="filter_pinned")
    embedding = choice(_("Embedding"), State.choices, method="filter_by_embedding")
    tier = choice(_("Tier"), MemoryEntry.Tier.choices)
    since = from_day(_("Observed after"), "observed_at")
    until = until_day(_("Observed before"), "observed_at")

    class Meta:
        model = MemoryEntry
        fields: list[str] = []

    def filter_by_tag(self, rows: Rows, name: str, value: str) -> Rows:
        return rows.filter(tags__contains=[value])

    def filter_pinned(self, rows: Rows, name: str, value: str) -> Rows:
        return rows.filter(pinned=True)

    def filter_by_embedding(self, rows: Rows, name: str, value: str) -> Rows:
        """Filter by embedding state in the order of precedence FAILED, PENDING, READY."""
        vectors = Vector.objects.filter(
            account_id=OuterRef("account_id"),
            collection=COLLECTION,
            object_id=OuterRef("pk"),
            model_id=active_model().pk,
        )
        failed = Exists(vectors.filter(state=State.FAILED))
        if value == State.FAILED:
            return rows.filter(failed)
        pending = Exists(vectors.filter(state=State.PENDING))
        if value == State.PENDING:
            return rows.filter(pending & ~failed)
        return rows.filter(Exists(vectors.filter(state=State.READY)) & ~pending & ~failed)
