"""How a call went, as its caller tells it afterwards."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.utils import timezone

from context.models import ContextCostReport, ContextSettings
from context.reports.call_report import cost_of
from kmapp.errors import NotFound


def one(account_id: UUID, pk: UUID, *, held: bool = False) -> ContextCostReport:
    """The report, or the one answer for what is not there. Inside `acting`.

    `held`: until the transaction ends.
    """
    rows = ContextCostReport.objects.of(account_id)
    row = (rows.select_for_update(no_key=True) if held else rows).filter(pk=pk).first()
    if row is None:
        raise NotFound("There is no such report.")
    return row


def tell_outcome(account_id: UUID, pk: UUID, told: Mapping[str, Any]) -> ContextCostReport:
    """Keep what is told; what is told again takes the place of what was. Inside `acting`."""
    row = one(account_id, pk, held=True)  # who tells the rest at this moment waits, or it is lost
    names = ("success", "input_tokens", "output_tokens", "cached_tokens", "latency_ms", "model")
    for name in names:
        if told.get(name) is not None:
            setattr(row, name, told[name])
    row.cost = price_of(ContextSettings.objects.here(account_id), row)
    row.outcome_at = timezone.now()
    row.save(update_fields=[*names, "cost", "outcome_at"])
    return row


def price_of(settings: ContextSettings, row: ContextCostReport) -> Any:
    """In money: of what the provider counted, or of what we estimated before it answered."""
    used = {
        "input": row.total if row.input_tokens is None else row.input_tokens,
        "output": row.output_tokens or 0,
        "cached": row.cached_tokens or 0,
    }
    return cost_of(settings.prices.get(row.model), used)
