"""Loading of demo data into an empty account, at the request of an admin."""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from uuid import UUID

from django.conf import settings
from django.utils.functional import Promise
from django.utils.translation import gettext as _

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import Actor
from kmapp.accounts.models import Account
from kmapp.database.combined_counts import count_querysets
from kmapp.errors import Conflict
from kmapp.ledger.models import Commit
from kmapp.management.demo.actors import DemoActors
from kmapp.outbox.models import Delivery
from kmapp.outbox.publish import NewJob, publish

REQUESTED = "kmapp.demo.requested"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What one app loads, and whether the account has some of it."""

    label: str | Promise
    has_data: bool


def import_loaders() -> Iterator[ModuleType]:
    return map(import_module, settings.DEMO_LOADERS)


def list_steps(account_id: UUID) -> list[Step]:
    counts = _count_data(account_id)
    return [Step(label=each.LABEL, has_data=counts[each.__name__] > 0) for each in import_loaders()]


def is_empty(account_id: UUID) -> bool:
    """Return whether no app has data in this account. Inside `acting`."""
    return not any(_count_data(account_id).values())


def _count_data(account_id: UUID) -> dict[str, int]:
    """Return 1 for each loader whose app has data in this account, else 0. One query."""
    return count_querysets(
        {each.__name__: each.list_data(account_id)[:1] for each in import_loaders()}
    )


def request_demo(account_id: UUID, actor: Actor) -> None:
    """Enqueue the loading of demo data. Inside `acting`.

    The state of the ledger is part of the job's key: a second click enqueues nothing.
    """
    if not is_empty(account_id):
        raise Conflict(
            _("This account already has data, so no demo data was loaded. Use an empty account.")
        )
    seq = Commit.objects.of(account_id).last_seq()
    new_job = NewJob(job_key=f"{account_id}:{seq}", payload={"by": str(actor)})
    publish(account_id, REQUESTED, [new_job])


def find_last_delivery(account_id: UUID) -> Delivery | None:
    """Return the latest request's delivery. Inside `acting`."""
    rows = Delivery.objects.of(account_id).filter(event__topic=REQUESTED)
    return rows.order_by("-event__created_at").first()


def load_requested(account_id: UUID, person: Actor) -> None:
    """Load the demo data; `person` is the actor of its decisions. Outside transactions."""
    with acting(account_id):
        account = Account.objects.get(pk=account_id)
    actors = DemoActors.of(account, person)
    for each in import_loaders():
        each.load_demo(actors)
