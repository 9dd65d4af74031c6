"""Publishing: one delivery per subscriber, and messages that wake a worker."""

import os
import signal
import threading
from collections.abc import Iterator, Sequence

import pytest

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.outbox import registry
from kmapp.outbox.broker import AsyncPublisher
from kmapp.outbox.models import Delivery, OutboxEvent
from kmapp.outbox.publish import NewJob, publish
from kmapp.outbox.registry import Job, register_handler
from kmapp.runtime.processes import wait_until

TOPIC = "test.publish"


@pytest.fixture
def handlers() -> Iterator[None]:
    def one(jobs: Sequence[Job]) -> None: ...

    def two(jobs: Sequence[Job]) -> None: ...

    names = [f"{__name__}.{each.__qualname__}" for each in (one, two)]
    register_handler(TOPIC)(one)
    register_handler(TOPIC, queue="embedding")(two)
    yield
    for name in names:
        registry._subscriptions.pop(name)  # noqa: SLF001


def test_each_subscriber_gets_a_delivery_per_event(acme: Account, handlers: None) -> None:
    with acting(acme):
        new_jobs = [NewJob(job_key=key, payload={"n": key, "deep": [1.5, None]}) for key in "ab"]
        ids = publish(acme.pk, TOPIC, new_jobs)
        assert dict(OutboxEvent.objects.values_list("job_key", "pk")) == ids
        assert OutboxEvent.objects.get(job_key="a").payload == {"n": "a", "deep": [1.5, None]}
        deliveries = Delivery.objects.values_list("event_id", "queue")
        assert sorted(deliveries) == sorted(
            (pk, q) for pk in ids.values() for q in ("default", "embedding")
        )
        assert Delivery.objects.open().count() == 4


def test_existing_job_key_is_not_published_again(acme: Account, handlers: None) -> None:
    with acting(acme):
        first = publish(acme.pk, TOPIC, [NewJob(job_key="a", payload={"n": 1})])
        again = publish(
            acme.pk, TOPIC, [NewJob(job_key=key, payload={"n": 2}) for key in ("a", "b", "b")]
        )
        assert again["a"] == first["a"]
        assert set(again) == {"a", "b"}
        assert OutboxEvent.objects.get(job_key="a").payload == {"n": 1}
        assert OutboxEvent.objects.count() == 2
        assert Delivery.objects.count() == 4


def test_publishing_no_tasks_runs_no_query(
    acme: Account, django_assert_num_queries: pytest.FixtureRequest
) -> None:
    with acting(acme), django_assert_num_queries(0):  # type: ignore[operator]  # its own type
        assert publish(acme.pk, TOPIC, []) == {}


# --- Messages to the broker, sent from a thread ---------------------------------------------------


def test_published_queues_are_sent() -> None:
    sent: list[str] = []
    messenger = AsyncPublisher(sent.append)
    messenger.publish({"default", "embedding"})
    assert wait_until(lambda: sorted(sent) == ["default", "embedding"], 60)


def test_slow_broker_does_not_block_and_messages_are_merged() -> None:
    sent: list[str] = []
    gate = threading.Event()

    def slowly(word: str) -> None:
        sent.append(word)
        gate.wait(60)

    messenger = AsyncPublisher(slowly)
    messenger.publish({"first"})
    assert wait_until(lambda: sent == ["first"], 60)
    for _ in range(1000):
        messenger.publish({"again"})
    assert sent == ["first"]
    gate.set()
    assert wait_until(lambda: "again" in sent, 60)
    messenger.publish({"last"})
    assert wait_until(lambda: "last" in sent, 60)
    assert sent == ["first", "again", "last"]


def test_failed_message_is_dropped_and_the_next_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kmapp.outbox.broker.FAILURE_PAUSE_SECONDS", 0.01)
    sent: list[str] = []

    def fails_first(word: str) -> None:
        sent.append(word)
        if len(sent) == 1:
            raise ConnectionError("away")

    messenger = AsyncPublisher(fails_first)
    messenger.publish({"lost"})
    assert wait_until(lambda: sent == ["lost"], 60)
    messenger.publish({"heard"})
    assert wait_until(lambda: sent == ["lost", "heard"], 60)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # pools of workers fork too
def test_forked_child_has_its_own_messenger() -> None:
    reader, writer = os.pipe()
    messenger = AsyncPublisher(lambda word: os.write(writer, word.encode() + b"\n"))
    messenger.publish({"parent"})
    assert os.read(reader, 100) == b"parent\n"
    child = os.fork()
    if child == 0:
        messenger.publish({"child"})
        signal.pause()
    assert os.read(reader, 100) == b"child\n"
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
