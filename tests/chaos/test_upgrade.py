"""An installation of the first release is upgraded during reads and writes."""

import gzip
import json
import shutil
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from threading import Event
from typing import Any
from uuid import UUID

import psycopg
import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connections
from django.test import Client
from pytest_django import DjangoDbBlocker

from kmapp.accounts.acting import acting
from kmapp.accounts.actions import issue_key
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import account_ids
from kmapp.database.provision import Login, provision
from kmapp.runtime import embedded
from kmapp.runtime.embedded.postgres import Postgres
from memory.actions.write_entries import write_batch
from memory.models.entry_input import Batch, NewEntry
from tests import makers
from tests.chaos.conftest import ChaosServer, connected_to
from tests.chaos.measure import WHOLE
from tests.promises.plugin import RecordFigure

pytestmark = [pytest.mark.chaos, pytest.mark.alone, pytest.mark.promise(40)]

FIRST = Path(__file__).resolve().parents[1] / "data" / "first"  # its README says what it is
ROWS = 10_000
READS_FOR = 4.0  # seconds
LONGEST = 1.0 if WHOLE else READS_FOR - 0.5  # seconds of a wait for a lock
# Copies of one row for tables that later migrations change. Only their number matters: they have
# no commits.
MULTIPLY = """
INSERT INTO {table} SELECT (jsonb_populate_record(
  NULL::{table}, old || jsonb_build_object('id', gen_random_uuid(), {others}))).*
FROM (SELECT to_jsonb({table}) AS old FROM {table} LIMIT 1) one, generate_series(1, %s) number
"""
WAITS = """
SELECT coalesce(max(extract(epoch FROM clock_timestamp() - waitstart)), 0)
FROM pg_locks JOIN pg_stat_activity USING (pid)
WHERE NOT granted AND usename = %s AND pg_stat_activity.datname = current_database()
"""


@pytest.fixture
def first(chaos_server: ChaosServer, django_db_blocker: DjangoDbBlocker) -> Iterator[Postgres]:
    """Connect this process to a database of the first release, and use its checkpoints."""
    name, roles = "first", embedded.ROLES
    provision(
        chaos_server.postgres.url(),
        database=name,
        owner=Login(roles["owner"]),
        app=Login(roles["app"]),
    )
    dump = gzip.decompress((FIRST / "kmapp.sql.gz").read_bytes())
    with psycopg.connect(chaos_server.postgres.url(roles["owner"], name), autocommit=True) as owner:
        owner.execute(dump)
    settings.CHECKPOINT_FILE.parent.mkdir(parents=True)
    shutil.copyfile(FIRST / "checkpoints.ndjson", settings.CHECKPOINT_FILE)
    with django_db_blocker.unblock(), connected_to(chaos_server.postgres, name):
        yield chaos_server.postgres
    chaos_server.drop(name)


@dataclass
class Traffic:
    """Reads and writes as the app role, with statements of the first release."""

    postgres: Postgres
    account: UUID
    stop: Event = field(default_factory=Event)
    done: list[float] = field(default_factory=list)  # seconds that each transaction took
    longest_wait: float = 0.0  # seconds for a lock, as the server reports

    @contextmanager
    def flowing(self) -> Iterator[None]:
        with ThreadPoolExecutor(6) as threads:
            loads = [self.read, self.read, self.count_access, self.deliver, self.seal]
            flows = [threads.submit(self._repeat, load) for load in loads]
            flows.append(threads.submit(self._watch))
            try:
                time.sleep(0.5)
                yield
            finally:
                self.stop.set()
            for flow in flows:
                flow.result()

    def read(self, app: psycopg.Connection) -> None:
        app.execute(
            "SELECT e.id, c.seq, v.version FROM"
            " (SELECT * FROM memory_memoryentry ORDER BY id DESC LIMIT 20) e"
            " JOIN ledger_commit c ON c.id = e.commit_id"
            " JOIN memory_memoryversion v ON v.entry_id = e.id AND v.version = 1"
        ).fetchall()
        app.execute("SELECT count(*) FROM search_termposting WHERE term = 'tea'").fetchone()

    def count_access(self, app: psycopg.Connection) -> None:
        app.execute(
            "UPDATE memory_memoryentry SET access_count = access_count + 1 WHERE id IN"
            " (SELECT id FROM memory_memoryentry ORDER BY random() LIMIT 3 FOR UPDATE SKIP LOCKED)"
        )

    def deliver(self, app: psycopg.Connection) -> None:
        (event,) = app.execute(
            "INSERT INTO outbox_outboxevent (id, account_id, topic, job_key, payload,"
            " payload_sha256) VALUES"
            " (gen_random_uuid(), %s, 'upgrade', gen_random_uuid(), '{}', '') RETURNING id",
            [self.account],
        ).fetchone() or (None,)
        app.execute(
            "INSERT INTO outbox_delivery (id, account_id, event_id, handler, queue, attempts,"
            " done_at, last_error, reason) VALUES"
            " (gen_random_uuid(), %s, %s, 'upgrade', 'default', 1, now(), '', '')",
            [self.account, event],
        )

    def seal(self, app: psycopg.Connection) -> None:
        """Write to the ledger with the current code; its tables have not changed."""
        with acting(self.account):
            issue_key(account_id=self.account, name="upgrade", scopes=[], actor=SYSTEM)
        connections["default"].close()

    def _repeat(self, load: Callable[[psycopg.Connection], None]) -> None:
        url = self.postgres.url(embedded.ROLES["app"], "first")
        with psycopg.connect(url) as app:
            while not self.stop.is_set():
                began = time.monotonic()
                with app.transaction():
                    app.execute(
                        "SELECT set_config('app.account_id', %s, true)", [str(self.account)]
                    )
                    load(app)
                self.done.append(time.monotonic() - began)
                time.sleep(0.005)

    def _watch(self) -> None:
        with psycopg.connect(self.postgres.url(database="first"), autocommit=True) as server:
            while not self.stop.is_set():
                [(seconds,)] = server.execute(WAITS, [embedded.ROLES["app"]]).fetchall()
                self.longest_wait = max(self.longest_wait, float(seconds))
                time.sleep(0.005)


def _end_after(reader: psycopg.Connection, seconds: float) -> None:
    time.sleep(seconds)
    reader.rollback()


def upgraded(postgres: Postgres, record_figure: RecordFigure) -> Traffic:
    """Migrate from the first schema to the current one during traffic."""
    [account] = account_ids()
    traffic = Traffic(postgres, account)
    with traffic.flowing():
        call_command("migrate", database="owner", verbosity=0)
        call_command("embedding_models", "ensure", verbosity=0)
    record_figure(
        f"{len(traffic.done)} transactions meanwhile, the slowest {max(traffic.done):.2f} s;"
        f" the longest wait for a lock {traffic.longest_wait:.3f} s"
    )
    return traffic


def test_migrations_block_requests_briefly(first: Postgres, record_figure: RecordFigure) -> None:
    """Run every migration since the first schema, with 10,000 rows in each of three tables."""
    with psycopg.connect(first.url(database="first")) as server:
        for table, others in {
            "memory_memoryentry": "'client_id', 'copy-' || number",
            "memory_memoryversion": "'version', 1000 + number",
            "outbox_outboxevent": "'job_key', 'copy-' || number",
        }.items():
            server.execute(MULTIPLY.format(table=table, others=others), [ROWS])
            server.execute(f"ANALYZE {table}")
    assert upgraded(first, record_figure).longest_wait <= LONGEST


def test_migration_waits_for_a_long_reader_without_blocking_others(
    first: Postgres, record_figure: RecordFigure
) -> None:
    """A long transaction, such as a dump, delays only the migration."""
    url = first.url(embedded.ROLES["app"], "first")
    with ExitStack() as stack, ThreadPoolExecutor(1) as threads:
        reader = stack.enter_context(psycopg.connect(url))
        reader.execute("SELECT count(*) FROM memory_memoryentry, memory_memoryversion")
        # SHARE ROW EXCLUSIVE, which new references to memories need, waits for writers.
        reader.execute("LOCK TABLE memory_memoryentry IN ROW EXCLUSIVE MODE")
        ended = threads.submit(_end_after, reader, READS_FOR)
        traffic = upgraded(first, record_figure)
        ended.result()
    assert traffic.longest_wait <= LONGEST


def test_upgrade_preserves_data_and_ledger(first: Postgres, record_figure: RecordFigure) -> None:
    upgraded(first, record_figure)
    report = _fsck()
    assert report["ok"], report["problems"]
    assert report["checkpoints"] >= 1
    [account] = account_ids()
    with acting(account):
        issued = issue_key(account_id=account, name="after", scopes=["admin"], actor=SYSTEM)
    agent = Client(headers={"Authorization": f"Bearer {issued.secret}"})
    old = _post(agent, "memory/get", client_id="first-price", user_id="mateo")
    assert old["text"] == "Cloud Mist green tea costs 44 for 50 grams since May."
    versions = agent.get(f"/v1/memory/{old['id']}/history", {"user_id": "mateo"}).json()["versions"]
    assert [each["version"] for each in versions] == [1, 2, 3]
    assert agent.get("/v1/memory/verify").json()["ok"]
    for question, user, answer in (
        ("what do we charge for the misty green leaves?", "mateo", "Cloud Mist green tea costs 44"),
        ("泡绿茶水温多少合适？", "linwen", "云雾绿茶要用八十度的水"),
    ):
        results = _post(agent, "memory/search", query=question, user_id=user, limit=3)["results"]
        assert any(each["text"].startswith(answer) for each in results), results
    with acting(account):
        batch = Batch(entries=[NewEntry(text="The first note after the upgrade.", user_id="mateo")])
        write_batch(account_id=account, actor=SYSTEM, batch=batch)
    makers.settle()
    assert _fsck()["ok"]


def _post(agent: Client, path: str, **body: object) -> dict[str, Any]:
    answer = agent.post(f"/v1/{path}", body, content_type="application/json")
    assert answer.status_code == 200, answer.content
    return dict(answer.json())


def _fsck() -> dict[str, Any]:
    """Run fsck with the checkpoints that the first release signed."""
    output = StringIO()
    call_command(
        "fsck",
        "--json",
        f"--checkpoints={FIRST / 'checkpoints.ndjson'}",
        f"--public-key={FIRST / 'checkpoint.pub'}",
        stdout=output,
    )
    return dict(json.loads(output.getvalue()))
