"""What rules do when work was left to a worker."""

from collections.abc import Sequence
from uuid import UUID

from kmapp.outbox.registry import Job, on
from rules.actions.backtests import BACKTEST, run


@on(BACKTEST)
def backtest(jobs: Sequence[Job]) -> None:
    for job in jobs:
        run(job.account_id, UUID(job.payload["run"]))
