"""Heads are signed soon after a commit."""

import os
import subprocess
import sys
import threading
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from celery.signals import beat_init
from django.conf import settings
from django.core.management import call_command
from django.db import connections
from django.test import Client
from django.utils import timezone
from prometheus_client import REGISTRY
from pytest_django import DjangoAssertNumQueries

import kmapp.celery  # noqa: F401 - connects the signals
from kmapp.accounts.models import Account
from kmapp.ledger import checkpoint_thread
from kmapp.ledger.chain_deviations import find_last_signed, find_unsigned_since, list_deviations
from kmapp.ledger.checkpoint_file import CheckpointFile, get_checkpoint_file
from kmapp.ledger.checkpoint_thread import CheckpointThread
from kmapp.ledger.checkpoints import sign_moved_heads
from kmapp.ledger.models import Checkpoint
from kmapp.runtime.processes import wait_until
from tests import makers
from tests.databases import clone, drop, use_database
from tests.kernel.test_older_store import fsck


def metric(name: str) -> float:
    return REGISTRY.get_sample_value(name) or 0.0


def count_lines() -> int:
    return len(settings.CHECKPOINT_FILE.read_bytes().splitlines())


def test_only_heads_that_moved_are_signed(
    acme: Account, rival: Account, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    assert {each.account_id for each in sign_moved_heads()} == {acme.pk, rival.pk}
    with django_assert_num_queries(1):
        assert sign_moved_heads() == []
    makers.key(acme)
    [signed] = sign_moved_heads()
    assert signed.account_id == acme.pk
    assert find_last_signed(acme.pk).head == signed.head  # type: ignore[union-attr]
    assert count_lines() == 3
    # The thread writes nothing into the database; the hourly task copies the last statements.
    assert not Checkpoint.objects.exists()
    call_command("checkpoint", stdout=StringIO())
    assert count_lines() == 3


def test_new_file_gets_the_heads_of_idle_accounts(acme: Account) -> None:
    """Otherwise their last commits would wait for a checkpoint until the next change."""
    sign_moved_heads()  # without copies in the database, which would make the account read-only
    settings.CHECKPOINT_FILE.unlink()
    [signed] = sign_moved_heads()
    assert find_last_signed(acme.pk).head == signed.head  # type: ignore[union-attr]
    assert find_unsigned_since(acme.pk) is None
    assert sign_moved_heads() == []


def test_long_file_is_rotated_and_continues_with_every_account(
    acme: Account, rival: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kmapp.ledger.checkpoint_file.MAX_LINES", 9)
    monkeypatch.setattr("kmapp.ledger.checkpoint_file.MAX_ROTATED_FILES", 1)
    sign_moved_heads()
    other = settings.CHECKPOINT_FILE.with_name("checkpoints-2025.ndjson")
    other.touch()
    for _each in range(20):
        makers.key(acme)
        sign_moved_heads()
    call_command("checkpoint", stdout=StringIO())
    assert len(get_checkpoint_file().list_rotated()) == 1
    assert other.exists()
    assert count_lines() <= 10
    heads = CheckpointFile(settings.CHECKPOINT_FILE).all()  # as another process reads it
    assert heads == get_checkpoint_file().all()
    assert heads.keys() == {acme.pk, rival.pk}
    assert list_deviations() == []


@pytest.mark.promise(42)
def test_commits_without_checkpoint_degrade_health(
    acme: Account, agent: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    since = find_unsigned_since(acme.pk)
    assert since
    monkeypatch.setattr(timezone, "now", lambda: since + timedelta(seconds=60))
    assert agent.get("/v1/health").json()["ledger"] == {"ok": True}
    monkeypatch.setattr(timezone, "now", lambda: since + timedelta(seconds=61))
    part = agent.get("/v1/health").json()["ledger"]
    assert part["ok"] is False
    assert "have no signed checkpoint" in part["message"]
    sign_moved_heads()
    assert agent.get("/v1/health").json()["ledger"] == {"ok": True}


@pytest.mark.promise(42, 46)
def test_scheduler_runs_the_thread_which_survives_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds, third = [], threading.Event()

    def fail_twice() -> list[Any]:
        rounds.append(threading.current_thread())
        if len(rounds) == 3:
            third.set()
        if len(rounds) < 3:
            raise OSError("The disk is full.")
        return []

    monkeypatch.setattr(checkpoint_thread, "sign_moved_heads", fail_twice)
    monkeypatch.setattr(settings, "CHECKPOINT_SECONDS", 0.001)
    failures = metric("kmapp_checkpoint_failures_total")
    beat_init.send(sender=None)
    assert third.wait(60)
    thread = rounds[0]
    assert isinstance(thread, CheckpointThread)
    thread.stopping.set()
    thread.join()
    assert metric("kmapp_checkpoint_failures_total") == failures + 2


@pytest.mark.promise(28, 42)
def test_scheduler_signs_what_an_older_store_lacks(committed: str, acme: Account) -> None:
    """A real thread of the scheduler signs; the commit it signed is missing in the older store."""
    connections.close_all()
    older = f"{committed}_older"
    clone(older, template=committed)
    beat_init.send(sender=None)
    [thread] = [each for each in threading.enumerate() if isinstance(each, CheckpointThread)]
    try:
        makers.key(acme)
        assert wait_until(lambda: find_unsigned_since(acme.pk) is None, 60)
        assert fsck()["problems"] == []
        use_database(older)
        assert {problem["kind"] for problem in fsck()["problems"]} == {"cut"}
    finally:
        thread.stopping.set()
        thread.join()
        drop(older)
        use_database(committed)


def test_worker_knows_every_scheduled_task() -> None:
    """Run in a new process, because the tests have already imported the modules with tasks."""
    program = (
        "from kmapp.celery import app; app.loader.import_default_modules();"
        "print(*(e['task'] for e in app.conf.beat_schedule.values() if e['task'] not in app.tasks))"
    )
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings"}
    output = subprocess.run(
        [sys.executable, "-c", program], env=environment, check=True, capture_output=True, text=True
    )
    assert output.stdout.split() == []
