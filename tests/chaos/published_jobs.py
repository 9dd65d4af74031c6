"""Jobs that a test has published, and what became of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID

from kmapp.accounts.acting import acting
from kmapp.ledger.models import Seal
from kmapp.outbox.models import Delivery
from tests.chaos.jobs import handlers

if TYPE_CHECKING:
    from tests.chaos.product import Product


@dataclass(frozen=True, slots=True)
class Jobs:
    """Published jobs, by job key."""

    product: Product
    account: UUID
    events: Mapping[str, UUID]

    def starts(self) -> list[list[str]]:
        """Return the words that each job wrote when it started: its key first."""
        file = handlers.starts(self.product.home)
        lines = file.read_text().splitlines() if file.exists() else []
        return [words for line in lines if (words := line.split())[0] in self.events]

    def effects(self) -> list[int]:
        """Return how often each job took effect: its commits in the ledger."""
        with acting(self.account):
            seals = Seal.objects.of(self.account).filter(object_type=handlers.EFFECT)
            commits = Counter(seals.values_list("object_id", flat=True))
        return [commits[event] for event in self.events.values()]

    def have_all_run(self) -> bool:
        return all(self.effects())

    def is_finished(self) -> bool:
        return all(each.done_at or each.failed_at for each in self.deliveries())

    def deliveries(self) -> list[Delivery]:
        with acting(self.account):
            rows = Delivery.objects.of(self.account).filter(event_id__in=self.events.values())
            return list(rows.select_related("event").order_by("event_id"))
