"""Sources of the kernel's notifications: failed jobs, broken chains and refused requests."""

from uuid import UUID

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import Actor
from kmapp.accounts.models import Account
from kmapp.ledger.chain import ChainProblem
from kmapp.ledger.checkpoints import register_problem_observer
from kmapp.notifications.actions import notify
from kmapp.notifications.kernel_kinds import (
    BUDGET_EXCEEDED,
    CHAIN,
    JOB_FAILED,
    LEDGER_BROKEN,
    REFUSALS,
)
from kmapp.outbox.registry import Job, register_failure_observer
from kmapp.runtime.in_process_caches import TtlCache

REPEAT_SECONDS = 60  # seconds in which this process records the same refusal once

_recorded: TtlCache[bool] = TtlCache()


@register_failure_observer
def report_failed_job(job: Job, handler: str) -> None:
    """Record that a job failed permanently. In the transaction that stores its outcome."""
    notify(job.account_id, JOB_FAILED, handler)


@register_problem_observer
def report_broken_chain(account_id: UUID, _problem: ChainProblem) -> None:
    with acting(account_id):
        if Account.objects.filter(pk=account_id).exists():  # it may be missing from an older copy
            notify(account_id, LEDGER_BROKEN, CHAIN)


def report_refusal(account_id: UUID, actor: Actor, code: str) -> None:
    """Record that a budget or quota refused a request or job, whose own transaction ended."""
    key = (account_id, f"{code}:{actor}")  # the actor of a request is an API key
    if code not in REFUSALS or _recorded.get(key):
        return
    with acting(account_id):
        notify(account_id, BUDGET_EXCEEDED, key[1])
    _recorded.put(key, value=True, seconds=REPEAT_SECONDS)
