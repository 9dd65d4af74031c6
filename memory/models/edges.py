"""Edges between memories."""

from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from kmapp.accounts.models import SameAccountKey, SealedModel
from kmapp.ledger.models import Commit
from memory.models.entries import MemoryEntry, unit_interval_field


class MemoryEdge(SealedModel):
    """A directed edge, written by an agent or a person, or derived and replaceable."""

    class Type(models.TextChoices):
        NEXT = "next", _("is followed by")
        PART_OF = "part_of", _("is part of")
        RELATED_TO = "related_to", _("is related to")
        DERIVED_FROM = "derived_from", _("is derived from")
        MENTIONS = "mentions", _("mentions")
        SUPERSEDES = "supersedes", _("supersedes")
        CONTRADICTS = "contradicts", _("contradicts")

    class Origin(models.TextChoices):
        WRITTEN = "written", _("written")
        DERIVED = "derived", _("derived")

    unsealed_fields = ("commit_id", "last_activated_at")

    src = SameAccountKey(MemoryEntry, related_name="edges_out", verbose_name=_("from"))
    dst = SameAccountKey(MemoryEntry, related_name="edges_in", verbose_name=_("to"))
    type = models.CharField(_("type"), max_length=15, choices=Type.choices)
    weight = unit_interval_field(_("weight"), 0.5)
    confidence = unit_interval_field(_("confidence"), 1.0)
    decay_rate = unit_interval_field(_("decay rate"), 0.0)
    last_activated_at = models.DateTimeField(_("last activated"), null=True, blank=True)
    origin = models.CharField(
        _("origin"), max_length=7, choices=Origin.choices, default=Origin.WRITTEN
    )
    created_at = models.DateTimeField(_("created"))
    commit = SameAccountKey(  # type: ignore[assignment]  # derived edges have none
        Commit,
        on_delete=models.PROTECT,
        related_name="+",
        null=True,
        editable=False,
        verbose_name=_("commit"),
    )

    class Meta:
        verbose_name = _("edge")
        verbose_name_plural = _("edges")
        constraints = [
            models.UniqueConstraint(
                fields=["account", "src", "dst", "type"], name="one_edge_per_type"
            ),
            models.CheckConstraint(condition=~Q(src=F("dst")), name="edge_joins_two_entries"),
            models.CheckConstraint(
                condition=Q(origin="derived", commit__isnull=True)
                | Q(origin="written", commit__isnull=False),
                name="written_edge_has_commit",
            ),
        ]
        indexes = [models.Index(fields=["account", "dst"], name="edges_by_target")]

    def __str__(self) -> str:
        return f"{self.src_id} {self.type} {self.dst_id}"
