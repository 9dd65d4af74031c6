"""Waking a worker costs nobody any time; a broker that is away costs the message, nothing else."""

import os
import signal
import threading
import time
from collections.abc import Callable

import pytest

from kmapp.outbox.broker import Messenger


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_published_queues_are_sent() -> None:
    sent: list[str] = []
    messenger = Messenger(sent.append)
    messenger.publish({"default", "embedding"})
    wait_until(lambda: sorted(sent) == ["default", "embedding"])


def test_slow_broker_does_not_block_and_messages_are_merged() -> None:
    sent: list[str] = []
    gate = threading.Event()

    def slowly(word: str) -> None:
        sent.append(word)
        gate.wait(10)

    messenger = Messenger(slowly)
    began = time.monotonic()
    messenger.publish({"first"})
    wait_until(lambda: sent == ["first"])
    for _time in range(1000):
        messenger.publish({"again"})
    assert time.monotonic() - began < 2
    gate.set()
    wait_until(lambda: "again" in sent)
    time.sleep(0.05)
    assert sent == ["first", "again"]


def test_failed_message_is_dropped_and_the_next_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kmapp.outbox.broker.FAILURE_PAUSE", 0.01)
    sent: list[str] = []

    def fails_first(word: str) -> None:
        sent.append(word)
        if len(sent) == 1:
            raise ConnectionError("away")

    messenger = Messenger(fails_first)
    messenger.publish({"lost"})
    wait_until(lambda: sent == ["lost"])
    messenger.publish({"heard"})
    wait_until(lambda: sent == ["lost", "heard"])


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # it is what pools do
def test_forked_child_has_its_own_messenger() -> None:
    reader, writer = os.pipe()
    messenger = Messenger(lambda word: os.write(writer, word.encode() + b"\n"))
    messenger.publish({"parent"})
    assert os.read(reader, 100) == b"parent\n"
    child = os.fork()
    if child == 0:
        messenger.publish({"child"})
        time.sleep(10)
        os._exit(0)
    assert os.read(reader, 100) == b"child\n"
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
