"""The watchdog restarts a worker whose consumer takes no messages."""

import os
import subprocess
import sys
from inspect import signature
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from celery.worker import state
from kombu import Connection
from pytest_django import Settings
from redis import Redis

from kmapp.outbox import consumer_watchdog
from kmapp.outbox.broker import count_messages
from kmapp.outbox.consumer_watchdog import ConsumerWatchdog
from kmapp.runtime.embedded.valkey import Valkey

BASE = Path(__file__).resolve().parents[2]
CHECK_TIMES = [0, 15, 30, 45, 60]  # seconds


@pytest.mark.parametrize(
    ("waiting", "received", "busy", "stalled_at"),
    [
        ([5, 5, 5, 5, 5], [0, 0, 0, 0, 0], [0, 0, 0, 0, 0], 45),
        ([5, 5, 0, 5, 5], [0, 0, 0, 0, 0], [0, 0, 0, 0, 0], None),  # another worker took them
        ([5, 5, 5, 5, 5], [0, 0, 1, 1, 1], [0, 0, 0, 0, 0], None),  # it took one
        ([5, 5, 5, 5, 5], [0, 0, 0, 0, 0], [0, 0, 1, 1, 0], 60),  # it was busy
        ([0, 0, 0, 0, 0], [7, 7, 7, 7, 7], [0, 0, 0, 0, 0], None),  # nothing to do
        ([5, 5, 5, 5, 5], [0, 0, 0, 0, 0], [1, 1, 1, 1, 1], None),  # a long task
    ],
)
def test_watchdog_detects_a_consumer_that_takes_no_messages(
    waiting: list[int], received: list[int], busy: list[int], stalled_at: int | None
) -> None:
    at = 0
    watchdog = ConsumerWatchdog(
        count_waiting=lambda: waiting[at],
        count_received=lambda: received[at],
        is_busy=lambda: bool(busy[at]),
        clock=lambda: CHECK_TIMES[at],
    )
    stalled = None
    for at, seconds in enumerate(CHECK_TIMES):  # noqa: B007 - the functions above read it
        if watchdog.is_stalled():
            stalled = seconds
            break
    assert stalled == stalled_at


def test_worker_that_waits_to_connect_again_is_not_restarted(settings: Settings) -> None:
    """The broker is back just after a check, while the worker makes a last attempt that fails."""
    options = settings.CELERY_BROKER_TRANSPORT_OPTIONS
    attempt = options["socket_connect_timeout"] + options["socket_timeout"]
    parameters = signature(Connection._ensure_connection).parameters  # noqa: SLF001
    wait = parameters["interval_max"].default  # Celery uses the default
    now, connected_at = 0.0, attempt + wait
    watchdog = ConsumerWatchdog(
        count_waiting=lambda: int(now > 0),
        count_received=lambda: int(now > connected_at),
        is_busy=lambda: False,
        clock=lambda: now,
    )
    while now <= connected_at:
        assert not watchdog.is_stalled()
        now += consumer_watchdog.CHECK_SECONDS
    assert not watchdog.is_stalled()


def test_messages_that_the_broker_refuses_to_hand_out_do_not_count(settings: Settings) -> None:
    with TemporaryDirectory(prefix="kmapp-") as name:
        folder = Path(name)
        with (
            Valkey(folder / "valkey", folder / "valkey.sock", folder / "log") as server,
            Redis.from_url(server.url()) as client,
        ):
            settings.REDIS_URL = server.url()
            client.lpush("default", "message")
            assert count_messages(["default"]) == 1
            client.config_set("min-replicas-to-write", 1)  # it refuses writes, as on a full disk
            assert count_messages(["default"]) == 0


def test_task_over_its_time_limit_does_not_count_as_busy(settings: Settings) -> None:
    settings.CELERY_TASK_TIME_LIMIT = 240
    now = 0.0
    watchdog = ConsumerWatchdog(
        count_waiting=lambda: 1, count_received=lambda: 1, is_busy=lambda: True, clock=lambda: now
    )
    assert not watchdog.is_stalled()
    now = 299
    assert not watchdog.is_stalled()
    now = 300
    assert watchdog.is_stalled()


def test_worker_that_finishes_its_tasks_is_not_restarted(monkeypatch: pytest.MonkeyPatch) -> None:
    """After SIGTERM, a worker receives no more messages; a restart would undo the stop."""
    monkeypatch.setattr(state, "should_stop", 0)  # as after SIGTERM
    monkeypatch.setattr(ConsumerWatchdog, "is_stalled", lambda _watchdog: True)
    restarted: list[str] = []
    monkeypatch.setattr(consumer_watchdog, "restart_process", restarted.append)
    consumer_watchdog.start_watchdog(["default"], list).join()
    assert restarted == []


BLOCKED = """
import os, socket, subprocess, sys, threading
from kmapp.outbox.consumer_watchdog import restart_process
first = not os.path.exists(sys.argv[1])
with open(sys.argv[1], "a") as file:
    print(os.getpid(), file=file)
if first:
    child = subprocess.Popen(["sleep", "600"])
    with open(sys.argv[2], "w") as file:
        print(child.pid, file=file)
    threading.Timer(0.2, restart_process, [[child.pid]]).start()
    silent = socket.socketpair()
    silent[0].recv(1)  # forever
"""


def test_process_restarts_while_its_main_thread_is_blocked(tmp_path: Path) -> None:
    starts, child = tmp_path / "starts", tmp_path / "child"
    script = tmp_path / "blocked.py"
    script.write_text(BLOCKED)
    environment = {**os.environ, "PYTHONPATH": str(BASE)}
    subprocess.run([sys.executable, script, starts, child], check=True, timeout=60, env=environment)
    pids = starts.read_text().split()
    assert len(pids) == 2
    assert len(set(pids)) == 1
    assert not Path(f"/proc/{child.read_text().strip()}").exists()
