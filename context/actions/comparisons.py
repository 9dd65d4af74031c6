"""Comparing two policies over the last calls. A job, in pieces, with progress."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

from django.db.models import Count, Sum
from django.db.models.functions import Coalesce
from django.utils import timezone

from context.actions.replays import Changes, Replay, beside, recordings, varied
from context.models import (
    ContextComparison,
    ContextCostReport,
    ContextDifference,
    ContextSettings,
)
from context.models.comparisons import FITTING, KINDS
from context.reports.call_report import cost_of
from context.reports.comparison_totals import Distribution, Pair, distribution
from kmapp.accounts.acting import acting
from kmapp.accounts.actors import Actor
from kmapp.database.ids import uuid7
from kmapp.errors import NotFound
from kmapp.outbox.actions import Task, publish

COMPARE = "context.compare"
MOST = 5_000  # calls of one comparison
PIECE = 25  # calls that are held in memory together


@dataclass(frozen=True, slots=True, kw_only=True)
class Wished:
    """Which calls, and what is to be different on either side."""

    left: Changes
    right: Changes
    calls: int
    agent_id: str = ""
    model: str = ""


def start(account_id: UUID, actor: Actor, wished: Wished) -> ContextComparison:
    """Owe a comparison. Use inside `acting`; a worker runs it."""
    made = ContextComparison(
        id=uuid7(),
        account_id=account_id,
        left=asdict(wished.left),
        right=asdict(wished.right),
        agent_id=wished.agent_id,
        model=wished.model,
        wanted=min(wished.calls, MOST),
        asked_by=str(actor),
        created_at=timezone.now(),
    )
    made.save(force_insert=True)
    task = Task(job_key=f"{made.pk}:1", payload={"comparison": str(made.pk)})
    publish(account_id, COMPARE, [task])
    return made


def found(account_id: UUID, pk: UUID) -> ContextComparison:
    """The comparison, or the one answer for what is not there. Inside `acting`."""
    row = ContextComparison.objects.of(account_id).filter(pk=pk).first()
    if row is None:
        raise NotFound("There is no such comparison.")
    return row


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What came out so far. Money is of the calls that fit both sides and have a price."""

    distribution: Distribution
    changed: int
    losing_evidence: int
    evidence_lost: int
    no_longer_fitting: int
    newly_fitting: int
    larger: int
    dropped_before: int
    dropped_after: int
    cost_before: float | None
    cost_after: float | None


def summary(made: ContextComparison) -> Summary:
    """Two queries. Inside `acting`."""
    rows = ContextDifference.objects.of(made.account_id).filter(comparison=made)
    counted = rows.aggregate(
        **{name: Count("pk", filter=kind) for name, kind in KINDS.items()},
        evidence_lost=Coalesce(Sum("evidence_lost"), 0),
        dropped_before=Coalesce(Sum("dropped_before", filter=FITTING), 0),
        dropped_after=Coalesce(Sum("dropped_after", filter=FITTING), 0),
        cost_before=Sum("cost_before", filter=FITTING),
        cost_after=Sum("cost_after", filter=FITTING),
    )
    pairs = rows.filter(FITTING).values_list("before", "after")
    return Summary(distribution=distribution(Pair(*pair) for pair in pairs), **counted)


def run(account_id: UUID, pk: UUID) -> None:
    """Run one from its beginning, piece by piece; whoever looks sees how far it is."""
    with acting(account_id):
        made = ContextComparison.objects.of(account_id).filter(pk=pk).first()
        if made is None or made.status == made.Status.SUCCEEDED:
            return
        ContextDifference.objects.of(account_id).filter(comparison=made).delete()
        ids = list(_meant(made).newest_first().ids()[: made.wanted])
        prices = ContextSettings.objects.here(account_id).prices
        made.begin(total=len(ids), done=0, gone=0)
    for first in range(0, len(ids), PIECE):
        _piece(made, ids[first : first + PIECE], prices)
    with acting(account_id):
        made.end()


def _meant(made: ContextComparison) -> Any:
    named = {name: value for name in ("agent_id", "model") if (value := getattr(made, name))}
    rows = ContextCostReport.objects.of(made.account_id)
    return rows.filter(**named, created_at__lte=made.created_at)


def _piece(made: ContextComparison, ids: Sequence[UUID], prices: Mapping[str, Any]) -> None:
    """Read some calls, think without a transaction, write what came out."""
    account_id = made.account_id
    with acting(account_id):
        rows = list(ContextCostReport.objects.of(account_id).filter(pk__in=ids))
        known = recordings(account_id, rows)
    left, right = Changes(**made.left), Changes(**made.right)
    replays = [
        beside(varied(account_id, known[pk], left, right), left, right)
        for pk in ids
        if pk in known and (known[pk].wanted is not None or not (left.variant or right.variant))
    ]
    with acting(account_id):
        ContextDifference.objects.bulk_create(_row(made, replay, prices) for replay in replays)
        made.store(done=made.done + len(ids), gone=made.gone + len(ids) - len(replays))


def _row(made: ContextComparison, replay: Replay, prices: Mapping[str, Any]) -> ContextDifference:
    report, found = replay.recording.report, replay.differences
    total, fits = found["tokens"]["total"], (found["fits_before"], found["fits_after"])
    price = prices.get(report.model)
    change = total["after"] - total["before"] if all(fits) else 0
    same = replay.before is replay.after or (
        fits[0] == fits[1] and not change and not any(found[name] for name in _TOLD)
    )
    return ContextDifference(
        account_id=made.account_id,
        comparison=made,
        report=report,
        fits_before=fits[0],
        fits_after=fits[1],
        before=total["before"],
        after=total["after"],
        change=change,
        size=abs(change),
        dropped_before=found["dropped"]["before"],
        dropped_after=found["dropped"]["after"],
        evidence_lost=len(found["evidence_lost"]) if all(fits) else 0,
        cost_before=cost_of(price, {"input": total["before"]}) if fits[0] else None,
        cost_after=cost_of(price, {"input": total["after"]}) if fits[1] else None,
        is_same=same,
        differences=found,
    )


_TOLD = [
    f"{what}_{how}" for what in ("evidence", "tools", "messages") for how in ("lost", "gained")
]
