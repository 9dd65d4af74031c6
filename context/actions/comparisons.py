"""Comparison of two policies over the last calls: a job in batches, with progress."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from time import monotonic
from typing import Any
from uuid import UUID

from django.db.models import Count, Sum
from django.db.models.functions import Coalesce
from django.utils import timezone

from context.actions.replays import (
    Changes,
    Replay,
    compare_changes,
    load_recorded_calls,
    retrieve_again,
)
from context.models import ContextComparison, ContextCostReport, ContextDifference, ContextSettings
from context.models.comparisons import FITTING, KINDS
from context.reports.call_report import calculate_cost
from context.reports.token_change_distribution import Distribution, TokenChange, summarise_changes
from kmapp.accounts.acting import acting
from kmapp.accounts.actors import Actor
from kmapp.database.ids import uuid7
from kmapp.errors import NotFound
from kmapp.outbox.publish import NewJob, publish
from kmapp.outbox.registry import RetryLater

COMPARE = "context.compare"
MAX_CALLS = 5_000  # per comparison
BATCH = 25  # calls in memory at a time
RUN_SECONDS = 120.0  # a run begins no batch after this: jobs are ended after 200 s


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonRequest:
    left: Changes
    right: Changes
    calls: int
    agent_id: str = ""
    model: str = ""


def start_comparison(
    account_id: UUID, actor: Actor, request: ComparisonRequest
) -> ContextComparison:
    """Create a comparison and enqueue it. Inside `acting`."""
    ContextComparison.require_capacity(account_id)
    comparison = ContextComparison(
        id=uuid7(),
        account_id=account_id,
        left=asdict(request.left),
        right=asdict(request.right),
        agent_id=request.agent_id,
        model=request.model,
        wanted=min(request.calls, MAX_CALLS),
        asked_by=str(actor),
        created_at=timezone.now(),
    )
    comparison.save(force_insert=True)
    new_job = NewJob(job_key=f"{comparison.pk}:1", payload={"comparison": str(comparison.pk)})
    publish(account_id, COMPARE, [new_job])
    return comparison


def get_comparison(account_id: UUID, pk: UUID) -> ContextComparison:
    row = ContextComparison.objects.of(account_id).filter(pk=pk).first()
    if row is None:
        raise NotFound("The comparison does not exist.")
    return row


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonTotals:
    """Current totals. Costs include the calls that fit on both sides and have a price."""

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


def summarise_comparison(comparison: ContextComparison) -> ComparisonTotals:
    """Return the totals. Two queries. Inside `acting`."""
    rows = ContextDifference.objects.of(comparison.account_id).filter(comparison=comparison)
    counts = rows.aggregate(
        **{name: Count("pk", filter=kind) for name, kind in KINDS.items()},
        evidence_lost=Coalesce(Sum("evidence_lost"), 0),
        dropped_before=Coalesce(Sum("dropped_before", filter=FITTING), 0),
        dropped_after=Coalesce(Sum("dropped_after", filter=FITTING), 0),
        cost_before=Sum("cost_before", filter=FITTING),
        cost_after=Sum("cost_after", filter=FITTING),
    )
    pairs = rows.filter(FITTING).values_list("before", "after")
    return ComparisonTotals(
        distribution=summarise_changes(TokenChange(*pair) for pair in pairs), **counts
    )


def run_comparison(account_id: UUID, pk: UUID) -> None:
    """Begin or continue a comparison; its progress is stored after each batch.

    Raises RetryLater after RUN_SECONDS; the next run continues there.
    """
    until = monotonic() + RUN_SECONDS
    with acting(account_id):
        comparison = ContextComparison.objects.of(account_id).filter(pk=pk).first()
        if comparison is None or comparison.status == comparison.Status.SUCCEEDED:
            return
        names = ("agent_id", "model")
        filters = {name: value for name in names if (value := getattr(comparison, name))}
        calls = ContextCostReport.objects.of(account_id).filter(**filters)
        calls = calls.filter(created_at__lte=comparison.created_at)
        ids = list(calls.newest_first().ids()[: comparison.wanted])
        prices = ContextSettings.objects.get_or_default(account_id).prices
        done, gone = _find_progress(comparison, ids)
        comparison.begin(total=len(ids), done=done, gone=gone)
    for first in range(comparison.done, len(ids), BATCH):
        _compare_batch(comparison, ids[first : first + BATCH], prices)
        if comparison.done < len(ids) and monotonic() >= until:
            raise RetryLater("time_limit", seconds=0)
    with acting(account_id):
        comparison.end()


def _find_progress(comparison: ContextComparison, ids: Sequence[UUID]) -> tuple[int, int]:
    """Return how many of the calls are processed, and how many of these have no inputs.

    Calls that were erased since the last run are no longer among the ids, so that the stored number
    would skip others. The comparison then continues after the last call that has a difference.
    An erased call without inputs has no difference: only the number of calls shows its erasure.
    """
    if not comparison.done:
        return 0, 0
    rows = ContextDifference.objects.of(comparison.account_id).filter(comparison=comparison)
    compared = set(rows.values_list("report_id", flat=True))
    is_complete = len(compared) + comparison.gone == comparison.done
    if is_complete and len(ids) >= comparison.total:
        return comparison.done, comparison.gone
    done = max((number for number, pk in enumerate(ids, start=1) if pk in compared), default=0)
    return done, done - len(compared.intersection(ids[:done]))


def _compare_batch(
    comparison: ContextComparison, ids: Sequence[UUID], prices: Mapping[str, Any]
) -> None:
    """Read a batch, compare it outside of a transaction, and write the differences."""
    account_id = comparison.account_id
    with acting(account_id):
        rows = list(ContextCostReport.objects.of(account_id).filter(pk__in=ids))
        recorded = load_recorded_calls(account_id, rows)
    left, right = Changes(**comparison.left), Changes(**comparison.right)
    varied = left.variant or right.variant
    replays = [
        compare_changes(retrieve_again(account_id, call, left, right), left, right)
        for pk in ids
        if (call := recorded.get(pk)) and (call.retrieval is not None or not varied)
    ]
    with acting(account_id):
        # A call that was recorded late, by another clock, moves the others in the list of ids.
        ContextDifference.objects.bulk_create(
            [_build_difference(comparison, replay, prices) for replay in replays],
            ignore_conflicts=True,
        )
        gone = comparison.gone + len(ids) - len(replays)
        comparison.store(done=comparison.done + len(ids), gone=gone)


def _build_difference(
    comparison: ContextComparison, replay: Replay, prices: Mapping[str, Any]
) -> ContextDifference:
    report, differences = replay.recorded_call.report, replay.differences
    total = differences["tokens"]["total"]
    fits = (differences["fits_before"], differences["fits_after"])
    price = prices.get(report.model)
    change = total["after"] - total["before"] if all(fits) else 0
    differs = fits[0] != fits[1] or change or any(differences[name] for name in _CHANGE_KEYS)
    return ContextDifference(
        account_id=comparison.account_id,
        comparison=comparison,
        report=report,
        fits_before=fits[0],
        fits_after=fits[1],
        before=total["before"],
        after=total["after"],
        change=change,
        size=abs(change),
        dropped_before=differences["dropped"]["before"],
        dropped_after=differences["dropped"]["after"],
        evidence_lost=len(differences["evidence_lost"]) if all(fits) else 0,
        cost_before=calculate_cost(price, {"input": total["before"]}) if fits[0] else None,
        cost_after=calculate_cost(price, {"input": total["after"]}) if fits[1] else None,
        is_same=replay.before is replay.after or not differs,
        differences=differences,
    )


_CHANGE_KEYS = [
    *("evidence_lost", "evidence_gained", "tools_lost", "tools_gained"),
    *("messages_lost", "messages_gained"),
]
