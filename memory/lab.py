"""Trying a question out: what an agent would get, what just missed, and why. For people only."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from kmapp import tokens
from kmapp.accounts.acting import acting
from memory.models import MemoryEntry
from memory.retrieval import Hit, Search, search

BELOW = 5  # shown of what others scored higher than, and again of what is kept back
WIDER = 40  # how much further down the latter is looked for
Status = MemoryEntry.Status

LIMIT = _("below the limit: others scored higher")
_NOT_TOLD: Mapping[str, str | Promise] = {
    Status.PROPOSED: _("not approved: it waits for a reviewer"),
    Status.REJECTED: _("a reviewer rejected it"),
    Status.SUPERSEDED: _("superseded by a newer memory"),
    Status.FORGOTTEN: _("forgotten"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One memory of an answer."""

    hit: Hit
    rank: int
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Missed:
    """One memory that is not in the answer, and each reason for that."""

    hit: Hit
    reasons: Sequence[str | Promise]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What one question gave, asked in one way."""

    asked: Search
    told: Sequence[Told]
    missed: Sequence[Missed]
    decisions: Sequence[Mapping[str, Any]]
    timings: Mapping[str, float]

    @property
    def tokens(self) -> int:
        return sum(one.tokens for one in self.told)

    @property
    def milliseconds(self) -> float:
        return sum(self.timings.values())

    def rank_of(self, entry_id: UUID) -> int | None:
        return next((one.rank for one in self.told if one.hit.entry.pk == entry_id), None)


def try_out(account_id: UUID, asked: Search) -> Trial:
    """Ask as an agent does, then look further down and at what it may not see. Outside `acting`."""
    found = search(account_id, asked)
    told = {hit.entry.pk for hit in found.hits}
    wider = replace(asked, limit=asked.limit + BELOW, min_score=0.0)
    below = [hit for hit in search(account_id, wider).hits if hit.entry.pk not in told]
    known = told | {hit.entry.pk for hit in below}
    anyones = replace(asked, limit=asked.limit + WIDER, min_score=0.0, of_anyone=True)
    others = [hit for hit in search(account_id, anyones).hits if hit.entry.pk not in known]
    kept_back = [one for one in _explained(account_id, asked, others) if one.reasons != [LIMIT]]
    missed = [*_explained(account_id, asked, below), *kept_back[:BELOW]]
    return Trial(
        asked=asked,
        told=[
            Told(hit=hit, rank=rank, tokens=tokens.count(hit.entry.content))
            for rank, hit in enumerate(found.hits, 1)
        ],
        missed=sorted(missed, key=lambda one: -one.hit.score),
        decisions=found.decisions,
        timings=found.timings,
    )


def _explained(account_id: UUID, asked: Search, missed: Sequence[Hit]) -> list[Missed]:
    ids = [hit.entry.pk for hit in missed]
    with acting(account_id):
        seen = MemoryEntry.objects.of(account_id).filter(pk__in=ids).visible_to(asked.viewer)
        visible = set(seen.values_list("pk", flat=True))
    now = timezone.now()
    return [
        Missed(hit=hit, reasons=reasons(hit, asked, visible=hit.entry.pk in visible, now=now))
        for hit in missed
    ]


def reasons(hit: Hit, asked: Search, *, visible: bool, now: datetime) -> list[str | Promise]:
    """Why a memory is not in the answer: all that keeps it out, or that others were better."""
    entry = hit.entry
    found: list[str | Promise] = []
    if not visible:
        found.append(_("not visible to these ids"))
    if entry.status in _NOT_TOLD:
        found.append(_NOT_TOLD[entry.status])
    if entry.expires_at and entry.expires_at <= now:
        found.append(_("expired"))
    if entry.valid_from and entry.valid_from > now:
        found.append(_("not valid yet"))
    if entry.valid_to and entry.valid_to <= now:
        found.append(_("no longer valid"))
    if hit.score < asked.min_score:
        found.append(_("below the least score"))
    return found or [LIMIT]
