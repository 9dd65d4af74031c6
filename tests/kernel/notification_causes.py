"""Functions that cause notifications with the product's own actions."""

from typing import Any

from django.db import transaction

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import Actor
from kmapp.accounts.models import Account
from kmapp.ledger.checkpoint_thread import CheckpointThread
from kmapp.ledger.checkpoints import sign_moved_heads
from kmapp.notifications.models import Notification
from kmapp.outbox.deliver import deliver_due, paused_until
from kmapp.outbox.publish import NewJob, publish
from kmapp.outbox.registry import QUEUES, PermanentFailure, register_handler
from memory.models import MemoryEntry
from rules.actions.promotion_requests import request_or_promote
from rules.actions.state_changes import StateChange
from tests import makers
from tests.rules.builders import add_promotable_rule, set_gate
from tests.web.proposals import propose

FAILING = "tests.notifications.failing"


@register_handler("tests.failing", name=FAILING)
def fail(jobs: Any) -> None:
    raise PermanentFailure("It cannot work.")


def rows(account: Account, **conditions: Any) -> list[tuple[str, int, bool]]:
    """Return the kind and count of notifications, and whether each is open."""
    results = makers.rows(Notification, account, **conditions)
    return sorted((row.kind, row.count, row.closed_at is None) for row in results)


def settle() -> None:
    """Run due jobs; some fail on purpose."""
    paused_until.clear()
    while sum(deliver_due(queue) for queue in QUEUES):
        pass


def propose_two(account: Account) -> None:
    propose(account, "Tea is served at four.", "The kiln needs new bricks.")
    settle()


def contradict(account: Account) -> None:
    closing = "The warehouse in Lyon closes at {} on Fridays."
    makers.write(account, closing.format("six"), user_id="u", visibility="user")
    makers.update(MemoryEntry, account, {}, visibility="account", user_id="")
    propose(account, closing.format("five"))
    settle()


def ask_for_promotion(account: Account) -> None:
    rule = add_promotable_rule(account)
    set_gate(account, second_person=True)
    author = makers.member(account, "rita", role="editor")
    decision = StateChange(
        account_id=account.pk,
        rule_id=rule.pk,
        actor=Actor("user", author.pk),
        version=rule.version,
        reason="It has shown enough.",
    )
    for _ in range(2):  # the second request replaces the first one
        with acting(account):
            request_or_promote(decision)


def fail_jobs(account: Account) -> None:
    with acting(account):
        publish(account.pk, "tests.failing", [NewJob(job_key=str(n), payload={}) for n in "ab"])
    settle()


def exceed_quota(account: Account) -> None:
    makers.set_policy(account, {"daily_writes": 1})
    agent = makers.agent(account)
    agent.post("memory/store", {"text": "One.", "user_id": "u"}, 201)
    for text in ("Two.", "Three."):
        agent.post("memory/store", {"text": text, "user_id": "u"}, 429)


def exceed_tokens(account: Account) -> None:
    body = {"messages": [{"role": "user", "content": "kiln " * 2_000}], "sources": []}
    window = {"context_window_tokens": 1_000, "reserved_output_tokens": 100}
    makers.agent(account).post("context/assemble", body | window, 413)


def break_ledger(account: Account) -> None:
    """Sign commits that are then lost."""
    savepoint = transaction.savepoint()
    makers.key(account)
    sign_moved_heads()
    transaction.savepoint_rollback(savepoint)
    thread = CheckpointThread()
    for _ in range(2):
        thread.run_once()
