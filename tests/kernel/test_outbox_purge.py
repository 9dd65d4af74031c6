"""What is done and old goes; what was given up stays."""

from datetime import timedelta

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.outbox.actions import Task, publish
from kmapp.outbox.models import Delivery, OutboxEvent
from kmapp.outbox.purge import purge_all

LONG_AGO = "2020-01-01T00:00:00Z"


def test_purge_deletes_only_old_finished_events(acme: Account) -> None:
    with acting(acme):
        tasks = [Task(job_key=each, payload={"entry": str(acme.pk)}) for each in ("a", "b", "c")]
        events = publish(acme.pk, "memory.entry.embed", tasks)
        rows = Delivery.objects.of(acme)
        rows.filter(event_id__in=[events["a"], events["c"]]).update(done_at=LONG_AGO)
        rows.filter(event_id=events["b"]).update(failed_at=LONG_AGO)
        old = [events["a"], events["b"]]
        OutboxEvent.objects.of(acme).filter(pk__in=old).update(created_at=LONG_AGO)
    assert purge_all(older_than=timedelta(days=7)) == 1
    with acting(acme):
        left = OutboxEvent.objects.of(acme).values_list("job_key", flat=True)
        assert sorted(left) == ["b", "c"]
