"""The command that lists, replays and purges jobs."""

import io
from collections.abc import Iterator, Sequence
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.models.functions import Now

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.outbox import registry
from kmapp.outbox.deliver import deliver_due
from kmapp.outbox.models import Delivery, OutboxEvent
from kmapp.outbox.publish import NewJob, publish
from kmapp.outbox.registry import Job, register_handler

broken = True


@pytest.fixture(autouse=True)
def handler(settings: object) -> Iterator[None]:
    """A handler that fails while `broken`, with a single attempt."""
    settings.OUTBOX_MAX_ATTEMPTS = 1  # type: ignore[attr-defined]  # pytest-django's wrapper

    @register_handler("test.topic")
    def fragile(jobs: Sequence[Job]) -> None:
        if broken:
            raise RuntimeError("the tea is cold")

    yield
    registry._subscriptions.pop(f"{__name__}.handler.<locals>.fragile")  # noqa: SLF001


def command(*words: str) -> str:
    out = io.StringIO()
    call_command("outbox", *words, stdout=out)
    return out.getvalue()


def publish_jobs(account: Account, *names: str) -> None:
    with acting(account):
        publish(account.pk, "test.topic", [NewJob(job_key=name, payload={}) for name in names])


@pytest.fixture
def fail(acme: Account) -> None:
    publish_jobs(acme, "one", "two")
    deliver_due("default")


def test_failed_deliveries_are_listed_with_their_error(
    acme: Account, rival: Account, fail: None
) -> None:
    publish_jobs(acme, "three")
    out = command("list", "--account=acme", "--state=failed")
    assert out.startswith("acme: 2 deliveries")
    assert out.count("RuntimeError: the tea is cold") == 2
    assert "three" not in out
    assert "test.topic three" in command("list", "--state=PENDING", "--handler=fragile")
    assert "rival: 0 deliveries" in command("list")
    assert "acme: 0 deliveries" in command("list", "--handler=nobody")


def test_replay_asks_for_confirmation_and_retries(
    acme: Account, fail: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("builtins.input", lambda question: "")
    with pytest.raises(CommandError, match="Nothing was changed"):
        command("replay")
    monkeypatch.setattr("builtins.input", lambda question: "y")
    assert "2 jobs will be retried" in command("replay")
    monkeypatch.setattr(f"{__name__}.broken", False)
    deliver_due("default")
    with acting(acme):
        retried = Delivery.objects.of(acme).filter(event__topic="test.topic")
        assert retried.in_state("SUCCEEDED").count() == 2
    with pytest.raises(CommandError, match="No failed job matches"):
        command("replay", "--yes")


def test_replay_is_limited_to_the_account_or_the_delivery(
    acme: Account, rival: Account, fail: None
) -> None:
    with pytest.raises(CommandError, match="No failed job matches"):
        command("replay", "--account=rival", "--yes")
    with acting(acme):
        one = Delivery.objects.of(acme).dead()[0]
    command("replay", str(one.pk), "--yes")
    with acting(acme):
        assert Delivery.objects.of(acme).dead().count() == 1


def test_purge_deletes_old_finished_events(
    acme: Account, fail: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The age of a job that took long counts from its end."""
    monkeypatch.setattr(f"{__name__}.broken", False)
    publish_jobs(acme, "done", "done and old", "old, just done", "waiting and old")
    deliver_due("default")
    with acting(acme), connection.cursor() as cursor:
        cursor.execute(
            "UPDATE outbox_outboxevent SET created_at = now() - interval '40 days'"
            " WHERE job_key IN ('done and old', 'old, just done', 'waiting and old', 'one')"
        )
        deliveries = Delivery.objects.of(acme)
        deliveries.filter(event__job_key="waiting and old").update(done_at=None)
        month_ago = Now() - timedelta(days=31)
        deliveries.filter(event__job_key="done and old").update(done_at=month_ago)
    assert "1 events were deleted" in command("purge", "--older-than=30d")
    with acting(acme):
        events = OutboxEvent.objects.filter(topic="test.topic")
        remaining = set(events.values_list("job_key", flat=True))
    assert remaining == {"one", "two", "done", "old, just done", "waiting and old"}


def test_purge_rejects_an_invalid_age() -> None:
    with pytest.raises(CommandError, match="for example 30d"):
        command("purge", "--older-than=soon")


def test_list_rejects_a_negative_limit() -> None:
    with pytest.raises(CommandError, match="is not a whole number of at least 0"):
        command("list", "--limit=-1")
