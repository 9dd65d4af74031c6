"""What is published is owed once to each who wants it."""

from collections.abc import Iterator, Sequence

import pytest

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.outbox import registry
from kmapp.outbox.actions import Task, publish
from kmapp.outbox.models import Delivery, OutboxEvent
from kmapp.outbox.registry import Job, on

TOPIC = "test.publish"


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """Two that want to hear of it."""

    def one(jobs: Sequence[Job]) -> None: ...

    def two(jobs: Sequence[Job]) -> None: ...

    names = [f"{__name__}.{each.__qualname__}" for each in (one, two)]
    on(TOPIC)(one)
    on(TOPIC, queue="embedding")(two)
    yield
    for name in names:
        registry._subscriptions.pop(name)  # noqa: SLF001


def test_each_subscriber_gets_a_delivery_per_event(acme: Account) -> None:
    with acting(acme):
        tasks = [Task(job_key=key, payload={"n": key, "deep": [1.5, None]}) for key in "ab"]
        ids = publish(acme.pk, TOPIC, tasks)
        assert dict(OutboxEvent.objects.values_list("job_key", "pk")) == ids
        assert OutboxEvent.objects.get(job_key="a").payload == {"n": "a", "deep": [1.5, None]}
        owed = Delivery.objects.values_list("event_id", "queue")
        assert sorted(owed) == sorted(
            (pk, q) for pk in ids.values() for q in ("default", "embedding")
        )
        assert Delivery.objects.open().count() == 4


def test_existing_job_key_is_not_published_again(acme: Account) -> None:
    with acting(acme):
        first = publish(acme.pk, TOPIC, [Task(job_key="a", payload={"n": 1})])
        again = publish(
            acme.pk, TOPIC, [Task(job_key=key, payload={"n": 2}) for key in ("a", "b", "b")]
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
