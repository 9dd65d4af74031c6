"""The clock of the host steps while the product runs: database, broker, web, worker and beat."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

import psycopg
import pytest
from django.db import InternalError, OperationalError, connection
from pytest_django import DjangoDbBlocker

from context.actions.settings import change_settings
from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account
from kmapp.ledger.checkpoint_file import CheckpointFile
from kmapp.ledger.models import Commit
from kmapp.ledger.verify import verify_account
from memory.models import MemoryEntry
from rules.actions.settings import change_settings as change_rule_settings
from tests import makers
from tests.chaos import faketime
from tests.chaos.conftest import ChaosServer, connected_to, make_home, open_chaos_server
from tests.chaos.jobs import handlers
from tests.chaos.measure import SHORT, amount, seconds_until
from tests.chaos.product import Answer, Product
from tests.chaos.published_jobs import Jobs
from tests.context.builders import fill_calls
from tests.promises.plugin import RecordFigure
from tests.rules.builders import fill_rules

pytestmark = [
    pytest.mark.chaos,
    pytest.mark.alone,
    pytest.mark.promise(47),
    pytest.mark.timeout(900),
    faketime.is_required,
]

HOUR, DAY = timedelta(hours=1), timedelta(hours=25)  # longer than the shortest retention
STEPS = [DAY] if SHORT else [HOUR, DAY, -HOUR, -DAY]
JOBS = amount(40, 20)
# Rows that are deleted for good when they are old.
EXPIRING = {
    "outbox_outboxevent": "TRUE",
    "rules_ruledecision": "TRUE",
    "context_toolresultarchive": "TRUE",
    "context_contextinput": "TRUE",
    "context_contextsummary": "TRUE",
    "context_contextbody": "TRUE",
    "api_idempotentrequest": "TRUE",
    "memory_memoryentry": "status = 'active'",
}
DELETING = {
    "kmapp.outbox.tasks.delete_old_events SUCCESS",
    "kmapp.api.tasks.delete_old_responses SUCCESS",
    "memory.jobs.tasks.forget_expired_memories SUCCESS",
    "rules.jobs.tasks.delete_expired_decisions SUCCESS",
    "context.jobs.tasks.delete_expired_archives SUCCESS",
}


@dataclass(frozen=True)
class Host:
    clock: faketime.Clock
    chaos_server: ChaosServer
    product: Product
    account: Account

    def rows(self) -> dict[str, set[UUID]]:
        """Return the ids of rows that age could delete, of all accounts, by table."""
        url = self.chaos_server.postgres.url(database="host")
        with psycopg.connect(url, autocommit=True) as server:
            return {
                table: {row[0] for row in server.execute(f"SELECT id FROM {table} WHERE {which}")}  # noqa: S608 - ours
                for table, which in EXPIRING.items()
            }

    def write(self, key: str) -> Answer:
        body = {"text": f"The lamp in hall {key} is out.", "user_id": "ann", "kind": "fact"}
        return self.product.request("POST", "memory/store", body, Idempotency_Key=key)

    def seconds_until_signed(self) -> float:
        """Wait until the last commit is in the checkpoint file; return the seconds."""
        file = CheckpointFile(self.product.home / "checkpoints" / "checkpoints.ndjson")
        with acting(self.account):
            seq = Commit.objects.of(self.account).last_seq()

        def is_signed() -> bool:
            signed = file.get(self.account.pk)
            return bool(signed and signed.statement.seq >= seq)

        return seconds_until(is_signed, 2)


@pytest.fixture(scope="module")
def stepping(django_db_setup: None) -> Iterator[tuple[faketime.Clock, ChaosServer]]:
    with make_home() as home:
        clock = faketime.Clock(home / "clock")
        clock.set()
        server = faketime.SteppingPostgres(
            home / "postgres", home / "pg", home / "postgres.log", clock=clock
        )
        with open_chaos_server(home, server) as chaos_server:
            yield clock, chaos_server


@pytest.fixture
def host(
    stepping: tuple[faketime.Clock, ChaosServer], django_db_blocker: DjangoDbBlocker
) -> Iterator[Host]:
    """Yield a running product with rows whose retention is one day."""
    clock, chaos_server = stepping
    product = chaos_server.product("host", **clock.environment(), **faketime.PYTHON)
    with django_db_blocker.unblock(), connected_to(chaos_server.postgres, "host", product):
        account = makers.account("Acme")
        product.key = makers.key(account)[1]
        product.ensure_running("valkey", "provider", "web", "worker")
        fill_rules(account, 1)
        fill_calls(account, 1)
        result = {"tool_name": "look", "result": "The hall is open.", "threshold": 0}
        assert product.post("tool-results", {**result, "conversation_id": "c"}).status == 201
        makers.set_policy(account, {"forget_after": dict.fromkeys(MemoryEntry.Kind.values, 1)})
        with acting(account):
            change_settings(account.pk, {"retention_days": 1, "inputs_days": 1}, actor=SYSTEM)
            change_rule_settings(account.pk, {"decision_days": 1}, actor=SYSTEM)
        product.ensure_running("beat")
        try:
            yield Host(clock, chaos_server, product, account)
        finally:
            product.kill(*product.running)


def test_steps_of_the_clock_delete_nothing_and_delay_nothing(
    host: Host, record_figure: RecordFigure
) -> None:
    product, account = host.product, host.account
    jobs_account = makers.account("Jobs")  # fsck does not know the objects that test jobs seal
    assert host.write("0").status == 201
    seconds_until(product.is_idle, 60)
    age_done_events(host)
    for number, step in enumerate(STEPS):
        before = host.rows()
        assert all(before.values()), before
        jobs = [product.publish_jobs(jobs_account.pk, handlers.ONCE, JOBS, seconds=0.1)]
        read = len(tasks_run(product))
        for off in (step, timedelta(0)):
            host.clock.set(off)
            key = f"{number}-{off.total_seconds()}"
            first = host.write(key)
            assert (first.status, host.write(key).body) == (201, first.body)
            signed = host.seconds_until_signed()
            jobs.append(product.publish_jobs(jobs_account.pk, handlers.ONCE, JOBS, seconds=0.1))
            done = seconds_until(lambda: have_happened(jobs), 60)  # noqa: B023
            idle = seconds_until(product.is_idle, 60)
            if off > timedelta(0):  # all hourly tasks are due
                seconds_until(lambda: {*tasks_run(product)[read:]} >= DELETING, 60)  # noqa: B023
            record_figure(
                f"{off}: signed {signed:.1f} s, jobs done {done:.1f} s, idle {idle:.1f} s after"
            )
        time.sleep(1)
        for table, ids in before.items():
            assert ids <= host.rows()[table], f"{table} after {step}"
        assert all(each.effects() == [1] * JOBS for each in jobs)
        assert host.write("0").headers["Idempotent-Replayed"] == "true"
    product.command("fsck", "--account", account.slug)
    assert verify_account(jobs_account.pk).ok
    assert product.request("GET", "memory/verify").body["ok"]
    assert product.request("GET", "health").status == 200


def age_done_events(host: Host) -> None:
    """Age the finished jobs so that they are due for deletion in half an hour."""
    with psycopg.connect(host.chaos_server.postgres.url(database="host")) as server:
        for table, column in (("outboxevent", "created_at"), ("delivery", "done_at")):
            server.execute(
                f"UPDATE outbox_{table} SET {column} = now() - interval '7 days - 30 minutes'"  # noqa: S608
                f" WHERE {column} IS NOT NULL"
            )


def have_happened(jobs: Sequence[Jobs]) -> bool:
    """Return whether all jobs took effect.

    PostgreSQL measures its timeouts with the clock of the host, so that a step can end an idle
    transaction.
    """
    try:
        return all(each.have_all_run() for each in jobs)
    except (OperationalError, InternalError):
        connection.close()
        return False


def tasks_run(product: Product) -> list[str]:
    file = product.home / handlers.TASKS
    return file.read_text().splitlines() if file.exists() else []
