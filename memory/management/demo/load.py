"""The demo's memories: written as agents do, decided about as a person does."""

from dataclasses import dataclass
from uuid import UUID

from django.urls import reverse

from kmapp.accounts.acting import acting
from kmapp.management.demo_actors import DemoActors
from memory.actions import review
from memory.actions.entries import write
from memory.actions.review import Decision
from memory.management.demo.scenario import Chapter, chapters
from memory.models import MemoryEntry
from memory.models.entry_input import Batch

TOLD = """\
{new} memories are new in {account}, {known} were there already. All of it is invented.

  {waiting} proposals wait for a person; some repeat, correct or attack:
    {review}
  What is remembered, with {pinned} pinned and {forgotten} forgotten:
    {memories}
  Ask as an agent would, with a key of yours:
    curl -s {search} -H 'Authorization: Bearer KEY' -H 'Content-Type: application/json' \\
      -d '{{"query": "which evening suits the pottery club?", "user_id": "mira-tallow"}}'
    curl -s {search} -H 'Authorization: Bearer KEY' -H 'Content-Type: application/json' \\
      -d '{{"query": "除湿机报警怎么办", "user_id": "shen-ji"}}'
"""


@dataclass
class Told:
    """What telling the story made."""

    new: int = 0
    known: int = 0


def tell(cast: DemoActors) -> str:
    """Tell it once; returns what to look at."""
    told = Told()
    with acting(cast.account):
        teller = Teller(cast, told)
        for chapter in chapters():
            teller.tell(chapter)
        rows = MemoryEntry.objects.of(cast.account)
        counts = {
            "waiting": rows.awaiting_review().count(),
            "pinned": rows.filter(pinned=True).count(),
            "forgotten": rows.filter(status=MemoryEntry.Status.FORGOTTEN).count(),
        }
    return TOLD.format(
        new=told.new,
        known=told.known,
        account=cast.account.name,
        review=cast.here + reverse("memory:review"),
        memories=cast.here + reverse("memory:entries"),
        search=cast.here + reverse("memory:api_search"),
        **counts,
    )


class Teller:
    """Writes as agents do, and decides as a person does."""

    def __init__(self, cast: DemoActors, told: Told) -> None:
        self.account, self.told = cast.account, told
        self.agent, self.person = cast.agent, cast.person

    def tell(self, chapter: Chapter) -> None:
        for run in chapter.runs:
            self._write(run)
        fresh = self._write(chapter.memories)
        approved = self._write(chapter.approved)
        for entry in approved.values():
            review.approve(self._decision(entry.pk, "checked against the handbook"))
        self._write(chapter.proposals)
        # Only what is new: nobody's later decisions are undone.
        fresh |= approved
        for client_id in chapter.pinned:
            if client_id in fresh:
                review.pin(self._decision(fresh[client_id].pk))
        for client_id, reason in chapter.forgotten.items():
            if client_id in fresh:
                review.forget(self._decision(fresh[client_id].pk, reason))

    def _write(self, batch: Batch) -> dict[str, MemoryEntry]:
        """Write a batch; returns what is new by client id."""
        written = write(account_id=self.account.pk, actor=self.agent, batch=batch)
        fresh = [entry for entry in written.entries if entry.pk in written.fresh]
        self.told.new += len(fresh)
        self.told.known += len(written.entries) - len(fresh)
        return {str(entry.client_id): entry for entry in fresh}

    def _decision(self, entry_id: UUID, reason: str = "") -> Decision:
        return Decision(
            account_id=self.account.pk, entry_id=entry_id, actor=self.person, reason=reason
        )
