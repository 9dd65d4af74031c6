"""Loading of the demo's memories, as an agent writes and a person decides."""

from uuid import UUID

from django.db.models import QuerySet
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from kmapp.accounts.acting import acting
from kmapp.management.demo.actors import DemoActors
from memory.actions import review
from memory.actions.review import Decision
from memory.actions.write_entries import write_batch
from memory.management.demo.scenario import Chapter, chapters
from memory.models import MemoryEntry
from memory.models.entry_input import Batch

LABEL = _("Memories")
SUMMARY = """\
{new} memories added to {account}; {known} already existed. All data is fictional.

  {waiting} pending proposals, including duplicates, corrections and attacks:
    {review}
  Memories, {pinned} of them pinned and {forgotten} forgotten:
    {memories}
  Search as an agent, with one of your API keys:
    curl -s {search} -H 'Authorization: Bearer KEY' -H 'Content-Type: application/json' \\
      -d '{{"query": "which evening suits the pottery club?", "user_id": "mira-tallow"}}'
    curl -s {search} -H 'Authorization: Bearer KEY' -H 'Content-Type: application/json' \\
      -d '{{"query": "除湿机报警怎么办", "user_id": "shen-ji"}}'
"""


def list_data(account_id: UUID) -> QuerySet[MemoryEntry]:
    return MemoryEntry.objects.of(account_id)


def load_demo(actors: DemoActors) -> str:
    """Write the missing demo data, and return a text with the pages to open."""
    loader = ChapterLoader(actors)
    with acting(actors.account):
        for chapter in chapters():
            loader.load(chapter)
        rows = MemoryEntry.objects.of(actors.account)
        totals = {
            "waiting": rows.awaiting_review().count(),
            "pinned": rows.filter(pinned=True).count(),
            "forgotten": rows.filter(status=MemoryEntry.Status.FORGOTTEN).count(),
        }
    return SUMMARY.format(
        new=loader.created,
        known=loader.unchanged,
        account=actors.account.name,
        review=actors.here + reverse("memory:review"),
        memories=actors.here + reverse("memory:entries"),
        search=actors.here + reverse("memory:api_search"),
        **totals,
    )


class ChapterLoader:
    """Loader that writes as an agent and decides as a person."""

    def __init__(self, actors: DemoActors) -> None:
        self.account, self.agent, self.person = actors.account, actors.agent, actors.person
        self.created = self.unchanged = 0  # entries

    def load(self, chapter: Chapter) -> None:
        for run in chapter.runs:
            self._write(run)
        fresh = self._write(chapter.memories)
        approved = self._write(chapter.approved)
        for entry in approved.values():
            review.approve(self._decision(entry.pk, "checked against the handbook"))
        self._write(chapter.proposals)
        # Only new entries, so that later decisions are not undone.
        fresh |= approved
        for client_id in chapter.pinned:
            if client_id in fresh:
                review.pin(self._decision(fresh[client_id].pk))
        for client_id, reason in chapter.forgotten.items():
            if client_id in fresh:
                review.forget(self._decision(fresh[client_id].pk, reason))

    def _write(self, batch: Batch) -> dict[str, MemoryEntry]:
        """Write a batch, and return the new entries by client id."""
        written = write_batch(account_id=self.account.pk, actor=self.agent, batch=batch)
        fresh = [entry for entry in written.entries if entry.pk in written.created_ids]
        self.created += len(fresh)
        self.unchanged += len(written.entries) - len(fresh)
        return {str(entry.client_id): entry for entry in fresh}

    def _decision(self, entry_id: UUID, reason: str = "") -> Decision:
        return Decision(
            account_id=self.account.pk, entry_id=entry_id, actor=self.person, reason=reason
        )
