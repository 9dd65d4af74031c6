"""The life of jobs: published, delivered, retried, postponed, lost, taken over, replayed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from io import StringIO
from uuid import UUID, uuid4

import hypothesis
import pytest
from django.core.management import call_command
from django.db.models.functions import Now
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant
from pytest_django import Settings

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.outbox import registry
from kmapp.outbox.deliver import deliver_due, paused_until, release
from kmapp.outbox.failed_deliveries import retry_deliveries
from kmapp.outbox.models import Delivery
from kmapp.outbox.publish import NewJob, publish
from kmapp.outbox.purge import purge_account
from kmapp.outbox.registry import Job, PermanentFailure, RetryLater, register_handler
from memory.models import MemoryEntry
from memory.models.entry_input import NewEntry
from tests import makers
from tests.stateful import forms, need, run, step

TOPIC = "test.life"
MAX_ATTEMPTS = 3
BATCH = 3
OUTCOMES = ("fails", "succeeds", "succeeds", "waits", "fails for good")

sides = st.sampled_from((0, 1))
numbers = st.integers(0, 5)


class Killed(BaseException):
    """Ends a worker. It is no Exception, so that no error handling runs, as after kill -9."""


@dataclass(slots=True)
class Planned:
    """A job as the model sees it."""

    outcome: str = "succeeds"  # of its next run
    state: str = "PENDING"
    attempts: int = 0
    is_due: bool = True
    has_error: bool = False

    def end(self) -> None:
        """Apply the outcome of a run."""
        self.state, self.is_due = "PENDING", False
        self.has_error = self.outcome != "succeeds" and (self.has_error or self.outcome != "waits")
        if self.outcome == "succeeds":
            self.state = "SUCCEEDED"
        elif self.outcome == "waits":
            self.attempts -= 1
        elif self.attempts >= MAX_ATTEMPTS or self.outcome == "fails for good":
            self.state = "FAILED"


@dataclass
class ModelledAccount:
    account: Account
    jobs: dict[str, Planned] = field(default_factory=dict)
    purged: set[str] = field(default_factory=set)  # keys of jobs that succeeded

    @property
    def pk(self) -> UUID:
        return self.account.pk


class OutboxLife(RuleBasedStateMachine):
    """Two accounts with jobs of one handler, which one worker at a time runs."""

    def __init__(self) -> None:
        super().__init__()
        self.sides = tuple(
            ModelledAccount(makers.account(f"Acme {uuid4().hex[:8]}")) for _ in range(2)
        )
        self.fate = ""  # of the worker: it dies, or another one takes over its jobs
        self.batch: list[Planned] = []  # of the worker that died
        self.task = uuid4()
        registry._subscriptions.clear()  # noqa: SLF001
        register_handler(TOPIC, name="test.life", batch=BATCH)(self.handle)

    @initialize(outcomes=st.lists(st.sampled_from(OUTCOMES), min_size=4, max_size=4))
    def begin(self, outcomes: list[str]) -> None:
        for side in self.sides:
            self._publish(side, range(4))
            for each, outcome in zip(side.jobs.values(), outcomes, strict=True):
                each.outcome = outcome

    def planned(self, job: Job) -> Planned:
        [side] = [each for each in self.sides if each.pk == job.account_id]
        return side.jobs[job.job_key]

    def handle(self, jobs: Sequence[Job]) -> dict[UUID, Exception]:
        """Run a batch as planned; a successful job writes one memory, however often it runs."""
        batch = [self.planned(job) for job in jobs]
        for job, each in zip(jobs, batch, strict=True):
            each.attempts += 1
            assert job.attempt == each.attempts
        fate, self.fate = self.fate, ""
        if fate == "dies":
            self.batch = batch
            for each in batch:
                each.state = "RUNNING"
            raise Killed
        if fate == "overtaken":
            self.lapse([job.id for job in jobs], jobs[0].account_id)
            for each in batch:
                each.state, each.is_due = "PENDING", True
            self.deliver_all()
            raise RuntimeError("too late")
        return {job.id: e for job in jobs if (e := self._run(job, self.planned(job)))}

    def _run(self, job: Job, plan: Planned) -> Exception | None:
        errors = {
            "fails": RuntimeError("not now"),
            "waits": RetryLater("not_yet", seconds=600),
            "fails for good": PermanentFailure("never"),
        }
        if plan.outcome == "succeeds":
            [side] = [each for each in self.sides if each.pk == job.account_id]
            makers.write(side.account, NewEntry(text="Done.", client_id=job.job_key, user_id="a"))
        plan.end()
        return errors.get(plan.outcome)

    def lapse(self, ids: Sequence[UUID], account_id: UUID) -> None:
        with acting(account_id):
            rows = Delivery.objects.of(account_id).filter(pk__in=ids)
            rows.update(lease_until=Now() - timedelta(seconds=1))

    def deliver_all(self) -> None:
        paused_until.clear()
        for side in self.sides:
            for each in side.jobs.values():
                # Its workers have died, and it has no attempt left.
                if each.state == "PENDING" and each.is_due and each.attempts >= MAX_ATTEMPTS:
                    each.attempts, each.state, each.has_error = each.attempts + 1, "FAILED", True
        deliver_due("default", task=self.task)

    @step(who=sides, keys=st.lists(numbers, min_size=1, max_size=4, unique=True))
    def publish(self, who: int, keys: list[int]) -> None:
        """Publishing a job again changes nothing."""
        self._publish(self.sides[who], keys)

    def _publish(self, side: ModelledAccount, keys: Iterable[int]) -> None:
        with acting(side.account):
            publish(side.pk, TOPIC, [NewJob(job_key=f"job:{key}", payload={}) for key in keys])
        for key in keys:
            side.jobs.setdefault(f"job:{key}", Planned())

    @step(who=sides, key=numbers, outcome=st.sampled_from(OUTCOMES))
    def plan(self, who: int, key: int, outcome: str) -> None:
        need(f"job:{key}" in self.sides[who].jobs)
        self.sides[who].jobs[f"job:{key}"].outcome = outcome

    @step()
    def deliver(self) -> None:
        self.deliver_all()

    @step(fate=st.sampled_from(("dies", "overtaken")))
    def deliver_with_trouble(self, fate: str) -> None:
        jobs = [each for side in self.sides for each in side.jobs.values()]
        due = [each for each in jobs if each.state == "PENDING" and each.is_due]
        need(due and all(each.attempts < MAX_ATTEMPTS for each in due) and not self.batch)
        need(fate == "dies" or all(each.attempts < MAX_ATTEMPTS - 1 for each in due))
        self.fate, self.task = fate, uuid4()
        if fate == "overtaken":
            self.deliver_all()
            return
        with pytest.raises(Killed):
            deliver_due("default", task=self.task)

    @step(by_task=st.booleans())
    def release_the_dead(self, by_task: bool) -> None:  # noqa: FBT001
        """Release the jobs of a dead worker: its task is redelivered, or its leases expire."""
        need(self.batch)
        if by_task:
            assert release(self.task) == len(self.batch)
        else:
            for side in self.sides:
                with acting(side.account):
                    rows = Delivery.objects.of(side.pk).exclude(lease_token=None)
                    rows.update(lease_until=Now() - timedelta(seconds=1), due_at=Now())
        for each in self.batch:
            each.state, each.is_due = "PENDING", True
        self.batch = []
        self.deliver_all()

    @step()
    def pass_time(self) -> None:
        for side in self.sides:
            with acting(side.account):
                Delivery.objects.of(side.pk).open().filter(lease_token=None).update(due_at=Now())
            for each in side.jobs.values():
                each.is_due |= each.state == "PENDING"

    @step(who=sides)
    def replay(self, who: int) -> None:
        side = self.sides[who]
        failed = [each for each in side.jobs.values() if each.state == "FAILED"]
        with acting(side.account):
            assert retry_deliveries(side.pk) == len(failed)
        for each in failed:
            each.state, each.attempts, each.is_due = "PENDING", 0, True

    @step(who=sides)
    def purge(self, who: int) -> None:
        """Delete the events of finished jobs. A deleted job may be published again."""
        side = self.sides[who]
        purge_account(side.pk, timedelta(seconds=-5))  # those of the next seconds, too
        for key in [key for key, each in side.jobs.items() if each.state == "SUCCEEDED"]:
            del side.jobs[key]
            side.purged.add(key)

    @invariant()
    def deliveries_are_as_planned(self) -> None:
        for side in self.sides:
            with acting(side.account):
                rows = list(Delivery.objects.of(side.pk).select_related("event"))
                done = set(MemoryEntry.objects.of(side.pk).values_list("client_id", flat=True))
            assert {
                row.event.job_key: (row.state, row.attempts, bool(row.last_error)) for row in rows
            } == {
                key: (each.state, each.attempts, each.has_error) for key, each in side.jobs.items()
            }
            succeeded = {key for key, each in side.jobs.items() if each.state == "SUCCEEDED"}
            assert succeeded | side.purged == done

    def teardown(self) -> None:
        """Finish all jobs, and check that each took effect once."""
        if self.batch:
            self.release_the_dead(by_task=True)
        for who, side in enumerate(self.sides):
            for each in side.jobs.values():
                each.outcome = "succeeds"
            self.replay(who)
        self.pass_time()
        self.deliver_all()
        for who in range(2):
            self.replay(who)  # jobs whose workers died too often
        self.deliver_all()
        self.deliveries_are_as_planned()
        for side in self.sides:
            assert {each.state for each in side.jobs.values()} <= {"SUCCEEDED"}
            assert makers.count(MemoryEntry, side.account) == len(side.jobs.keys() | side.purged)
            call_command("fsck", account=side.account.slug, stdout=StringIO())


@pytest.mark.usefixtures("committed")
@forms(short=10, steps=40)
def test_jobs_live_as_modelled(
    form: hypothesis.settings, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.OUTBOX_MAX_ATTEMPTS = MAX_ATTEMPTS
    monkeypatch.setattr(registry, "_subscriptions", {})
    run(OutboxLife, form)
    paused_until.clear()
