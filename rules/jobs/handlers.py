"""Outbox handlers of rules."""

from collections.abc import Sequence
from uuid import UUID

from kmapp.outbox.registry import Job, register_handler
from rules.actions.backtests import BACKTEST, run_backtest
from rules.models import RuleBacktest


def _mark_failed(job: Job) -> None:
    RuleBacktest.mark_failed(job.account_id, UUID(job.payload["run"]))


@register_handler(BACKTEST, name="rules.handlers.backtest", on_permanent_failure=_mark_failed)
def backtest(jobs: Sequence[Job]) -> None:
    for job in jobs:
        run_backtest(job.account_id, UUID(job.payload["run"]))
