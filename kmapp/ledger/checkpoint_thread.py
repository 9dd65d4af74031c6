"""The thread that signs heads within two seconds of a commit, in the scheduler's process.

It polls instead of listening: NOTIFY takes a lock of the whole database at each commit.
"""

import threading
import time
from uuid import UUID

import structlog
from django.conf import settings
from django.db import connection
from prometheus_client import Counter, Gauge

from kmapp.ledger.chain import ChainProblem
from kmapp.ledger.checkpoints import report_problem, sign_moved_heads

LAST_CHECKPOINT_TIME = Gauge(
    "kmapp_checkpoint_time_seconds",
    "Unix time at which all heads were last compared with their checkpoints.",
    multiprocess_mode="mostrecent",
)
DEVIATING_ACCOUNTS = Gauge(
    "kmapp_ledger_accounts_behind",
    "Accounts whose ledger is not the one that was signed.",
    multiprocess_mode="mostrecent",
)
FAILURES = Counter("kmapp_checkpoint_failures", "Rounds of signing that failed.")

log = structlog.get_logger()


class CheckpointThread(threading.Thread):
    """Signs the heads that moved, again and again until it is stopped."""

    def __init__(self) -> None:
        super().__init__(name="checkpoints", daemon=True)
        self.stopping = threading.Event()
        self.reported: dict[UUID, ChainProblem] = {}  # each problem is logged once

    def run(self) -> None:
        while not self.stopping.wait(settings.CHECKPOINT_SECONDS):
            try:
                self.run_once()
            except Exception as error:  # noqa: BLE001 - the next round tries again
                FAILURES.inc()
                log.warning("checkpoint_failed", error=type(error).__name__)
            finally:
                connection.close()

    def run_once(self) -> None:
        outcomes = sign_moved_heads()
        problems = {each.account_id: each.problem for each in outcomes if each.problem}
        for account_id, problem in problems.items():
            if self.reported.get(account_id) != problem:
                log.error(
                    "ledger_behind_checkpoint",
                    account=str(account_id),
                    seq=problem.seq,
                    problem=problem.message,
                )
                report_problem(account_id, problem)
        self.reported = problems
        DEVIATING_ACCOUNTS.set(len(problems))
        LAST_CHECKPOINT_TIME.set(time.time())


def start_checkpoint_thread() -> None:
    CheckpointThread().start()
