"""Texts of one person, sent through every endpoint, are in no file after their erasure."""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from django.core.management import call_command
from django.db import connection
from django.db.models.functions import Now
from django.test import Client
from django.utils import timezone

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account
from kmapp.database.backup.pg_tools import WITHOUT_TIMEOUTS
from kmapp.outbox.models import Delivery
from memory.models import Extraction
from tests import makers
from tests.chaos.conftest import ROLES, ChaosServer
from tests.chaos.measure import seconds_until
from tests.chaos.product import BASE, Product
from tests.full_account import account_tables
from tests.promises.plugin import RecordFigure

pytestmark = pytest.mark.chaos

LEAST = 50  # markers


@dataclass
class MarkerFactory:
    """Words that occur nowhere else, one for each field; all begin with the same stem."""

    stem: str = field(default_factory=lambda: f"q7{uuid4().hex[:10]}")
    created: int = 0

    def new(self) -> str:
        self.created += 1
        return f"{self.stem}n{self.created:02}"

    def count_in(self, folder: Path) -> dict[str, int]:
        """Count the words in each file of a folder."""
        counts: Counter[str] = Counter()
        for file in folder.rglob("*"):
            if file.is_file() and not file.is_symlink():
                number = file.read_bytes().lower().count(self.stem.encode())
                counts.update({str(file.relative_to(folder)): number} if number else {})
        return dict(counts)


@pytest.fixture
def markers() -> MarkerFactory:
    return MarkerFactory()


def write_markers_to_memory(product: Product, markers: MarkerFactory, person: str) -> list[str]:
    def node(**more: Any) -> dict[str, Any]:
        return {"text": f"They like {markers.new()}.", "user_id": person, **more}

    full = node(
        title=markers.new(),
        metadata={markers.new(): markers.new()},
        tags=[markers.new()],
        entities=[markers.new()],
        sources=[{"quote": markers.new(), "url": f"https://x.example/{markers.new()}"}],
        raw_ref=markers.new(),
        evidence_ref=markers.new(),
        client_id=markers.new(),
        run_id=markers.new(),
        agent_id=markers.new(),
        app_id=markers.new(),
        scope=markers.new(),
    )
    everyone = node(visibility="account")
    body = {"nodes": [full, node(), everyone], "input_text": markers.new()}
    written = ask(product, "memory/write", body, idempotent=True)
    ids = [each["id"] for each in written["nodes"]]
    ask(product, "memory/update", {"id": ids[1], "text": markers.new(), "reason": markers.new()})
    ask(
        product,
        "memory/feedback",
        {"id": ids[1], "outcome": "positive", "reason": markers.new(), "used_in": markers.new()},
    )
    ask(product, "memory/forget", {"id": ids[1], "reason": markers.new()})
    ask(product, "memory/store", node(), idempotent=True)
    for infer in (False, True):
        talk = [{"role": "user", "content": markers.new()}]
        more = {"user_id": person, "metadata": {"a": markers.new()}}
        ask(product, "memory/add", {"messages": talk, "infer": infer, **more})
    for door in ("search", "recall_text", "inject"):
        ask(product, f"memory/{door}", {"query": markers.new(), "user_id": person})
    return ids


def write_markers_to_context(product: Product, markers: MarkerFactory, person: str) -> None:
    within = {"user_id": person, "conversation_id": markers.new(), "thread_id": markers.new()}
    result = {
        "tool_name": "look",
        "result": f"{markers.new()} " * 40,
        "tool_input": {"query": markers.new()},
        "sources": [markers.new()],
        "tool_call_id": markers.new(),
        "threshold": 0,
    }
    ask(product, "tool-results", {**result, **within}, idempotent=True)
    ask(product, "tool-results/search", {"query": markers.new(), **within})
    messages = [
        {"role": "user", "content": markers.new()},
        {"role": "assistant", "content": markers.new()},
        {"role": "user", "content": markers.new()},
    ]
    more = {"system": markers.new(), "query": markers.new(), "model": "small", **within}
    call = {"messages": messages, "window": 8_000, **more}
    ask(product, "context/assemble", call, idempotent=True)
    ask(product, "context/prepare", {"messages": messages, **within}, idempotent=True)


def write_markers_to_rules(product: Product, markers: MarkerFactory, person: str) -> None:
    body = {"context": {"said": markers.new()}, "candidates": ["bash"], "user_id": person}
    selecting = {**body, "run_id": markers.new()}
    made = ask(product, "memory/tools/select", selecting, idempotent=True)
    feedback = {"selected_tool": "bash", "outcome": "negative", "note": markers.new()}
    feedback |= {"decision_id": made["decision"]["decision_id"], "input_text": markers.new()}
    ask(product, "memory/tools/feedback", {**body, **feedback})


def write_markers_to_knowledge(product: Product, markers: MarkerFactory) -> str:
    document = {"ref": f"{markers.new()}.md", "text": f"# {markers.new()}\n\n{markers.new()}"}
    source = {"name": markers.new(), "ref": f"https://x.example/{markers.new()}"}
    body = {"source": source, "documents": [{**document, "title": markers.new()}]}
    response = ask(product, "knowledge/ingest", body, idempotent=True)
    ask(product, "knowledge/search", {"query": markers.new()})
    return str(response["source"]["id"])


def write_markers_to_pages(
    account: Account, markers: MarkerFactory, person: str, ids: list[str], folder: Path
) -> None:
    browser = Client()
    browser.force_login(makers.member(account, f"ada-{account.slug}", role="admin"))
    view = {"name": f"All of {person}", "query": f"user_id={person}"}
    assert browser.post("/memory/views/", view).status_code < 400
    response = browser.post(f"/memory/export/?user_id={person}", {"form": "csv"})
    assert markers.stem in response.getvalue().decode()
    decided = {"reason": markers.new(), "content": markers.new()}
    assert browser.post(f"/review/{ids[2]}/edit/", decided).status_code < 500
    assert browser.post(f"/memory/{ids[0]}/pin/", {"reason": markers.new()}).status_code < 500
    line = f'{{"object":"entry","text":"{markers.new()}","user_id":"{person}"}}\n'
    (folder / "in.jsonl").write_text(line)
    call_command("memories", "import", str(folder / "in.jsonl"), account=account.slug, verbosity=0)
    with acting(account):  # an extraction that failed
        Extraction.objects.create(
            account=account,
            kind="conversation",
            actor=str(SYSTEM),
            user_id=person,
            said={"messages": markers.new()},
            problem=markers.new(),
            answer=markers.new(),
            observed_at=timezone.now(),
            created_at=timezone.now(),
        )


def write_markers_to_refused_requests(product: Product, markers: MarkerFactory) -> None:
    """Send requests that are refused or fail, which must not appear in logs."""
    for path, body in (
        (f"memory/{markers.new()}", {}),
        ("memory/write", {"nodes": [{"text": markers.new(), "kind": markers.new()}]}),
        ("memory/get", {"id": markers.new()}),
        ("memory/search", {"query": markers.new(), "filters": {markers.new(): "x"}}),
    ):
        assert 400 <= product.post(path, body).status < 500
    product.provider(mode="error")
    text = {"text": markers.new(), "user_id": "somebody"}
    gone = product.post("memory/store", text).body["id"]
    product.post("memory/search", {"query": markers.new()})
    product.provider(mode="ok")
    erase(product, ids=[gone])


def ask(product: Product, path: str, body: Any, *, idempotent: bool = False) -> Any:
    more = {"Idempotency-Key": uuid4().hex} if idempotent else {}
    answer = product.request("POST", path, body, **more)
    assert answer.status < 300, (path, answer.body)
    return answer.body


def erase(product: Product, **which: Any) -> Any:
    counted = ask(product, "memory/erase", which)
    return ask(product, "memory/erase", {**which, "confirm_token": counted["confirm_token"]})


def rows_with(account: Account, stem: str) -> Iterator[str]:
    """Yield the rows of the account that contain the stem."""
    with acting(account), connection.cursor() as cursor:
        for table, column in account_tables().items():
            cursor.execute(
                f"SELECT t::text FROM {table} t WHERE {column} = %s "  # noqa: S608
                "AND lower(t::text) LIKE %s",
                [account.pk, f"%{stem}%"],
            )
            yield from (f"{table}: {row[0][:200]}" for row in cursor.fetchall())


def has_due_jobs(account: Account) -> bool:
    with acting(account):
        return Delivery.objects.of(account).open().filter(due_at__lte=Now()).exists()


@contextmanager
def reader(product: Product) -> Iterator[psycopg.Connection]:
    """Hold a snapshot of the database."""
    with psycopg.connect(product.database, options=WITHOUT_TIMEOUTS) as server:
        server.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        server.execute("SELECT 1")
        yield server


def scrub(product: Product, chaos_server: ChaosServer, behind: psycopg.Connection) -> None:
    """Run `scrub` during a transaction with a snapshot; end it when the command waits for it."""
    owner = product.database.replace(ROLES["app"], ROLES["owner"])
    surroundings = {
        "DATABASE_OWNER_URL": owner,
        "DATABASE_SUPERUSER_URL": chaos_server.postgres.url(),
    }
    with subprocess.Popen(
        [sys.executable, "manage.py", "scrub"],
        env={**os.environ, **product.environment(), **surroundings},
        cwd=BASE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout
        assert "have to end first" in process.stdout.readline()
        behind.rollback()
        process.communicate(timeout=300)
    assert process.returncode == 0


@pytest.mark.promise(39)
def test_erased_text_is_in_no_file(
    product: Product,
    acme: Account,
    chaos_server: ChaosServer,
    markers: MarkerFactory,
    tmp_path: Path,
    record_figure: RecordFigure,
) -> None:
    """50 markers; after erasure and scrubbing, 0 are in rows, files, logs or Valkey."""
    product.ensure_running("valkey", "provider", "web", "worker", "beat")
    person = markers.new()
    ids = write_markers_to_memory(product, markers, person)
    write_markers_to_context(product, markers, person)
    write_markers_to_rules(product, markers, person)
    source = write_markers_to_knowledge(product, markers)
    write_markers_to_pages(acme, markers, person, ids, tmp_path)
    write_markers_to_refused_requests(product, markers)
    assert markers.created >= LEAST
    seconds_until(lambda: product.request("GET", "health").body["pending_embeddings"] == 0, 60)
    assert any("pg_wal" in name for name in markers.count_in(chaos_server.home)), (
        "they reached the disk"
    )
    with reader(product) as behind:
        assert erase(product, user_id=person)["erased"]
        assert product.request("DELETE", f"knowledge/sources/{source}").status < 300
        assert list(rows_with(acme, markers.stem)) == []
        seconds_until(lambda: not has_due_jobs(acme), 60)
        assert list(rows_with(acme, markers.stem)) == []
        assert markers.count_in(chaos_server.home), "files know more than queries"
        scrub(product, chaos_server, behind)
    assert markers.count_in(chaos_server.home) == {}
    assert product.request("GET", "memory/verify").body["ok"]
    record_figure(f"{markers.created} markers of one person erased, 0 in any row or file")
