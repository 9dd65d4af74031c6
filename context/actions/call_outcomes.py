"""Outcomes of calls, reported by their callers."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.utils import timezone

from context.models import ContextCostReport, ContextSettings
from context.reports.call_report import calculate_cost
from kmapp.errors import NotFound


def get_report(account_id: UUID, pk: UUID, *, lock: bool = False) -> ContextCostReport:
    """Return the report. Raises NotFound. Inside `acting`.

    `lock` locks the row until the transaction ends.
    """
    rows = ContextCostReport.objects.of(account_id)
    row = (rows.select_for_update(no_key=True) if lock else rows).filter(pk=pk).first()
    if row is None:
        raise NotFound("The report does not exist.")
    return row


def record_outcome(account_id: UUID, pk: UUID, outcome: Mapping[str, Any]) -> ContextCostReport:
    """Update the reported fields of the outcome. Inside `acting`."""
    row = get_report(
        account_id, pk, lock=True
    )  # locked, so that concurrent partial outcomes are not lost
    names = ("success", "input_tokens", "output_tokens", "cached_tokens", "latency_ms", "model")
    for name in names:
        if outcome.get(name) is not None:
            setattr(row, name, outcome[name])
    row.cost = calculate_call_cost(ContextSettings.objects.get_or_default(account_id), row)
    row.outcome_at = timezone.now()
    row.save(update_fields=[*names, "cost", "outcome_at"])
    return row


def calculate_call_cost(settings: ContextSettings, row: ContextCostReport) -> Any:
    """Return the cost by the provider's token counts, or by our estimate without them."""
    usage = {
        "input": row.total if row.input_tokens is None else row.input_tokens,
        "output": row.output_tokens or 0,
        "cached": row.cached_tokens or 0,
    }
    return calculate_cost(settings.prices.get(row.model), usage)
