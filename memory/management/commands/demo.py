"""manage.py demo: an invented tea company's memories, in English and Chinese."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandParser
from django.urls import reverse

from kmapp import stack
from kmapp.accounts.acting import acting
from kmapp.accounts.actions import issue_key
from kmapp.accounts.actors import SYSTEM, Actor
from kmapp.accounts.models import Account, ApiKey, Membership
from kmapp.accounts.scopes import Scope
from kmapp.management.accounts import account_named
from memory.actions import review
from memory.actions.entries import write
from memory.actions.review import Decision
from memory.demo.story import Chapter, chapters
from memory.drafts import Batch
from memory.models import MemoryEntry

KEY = "demo agents"
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


class Command(BaseCommand):
    help = "Fills an account with small, invented, bilingual data. Again: changes nothing."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--account", metavar="SLUG", help="may be left out if there is one")

    def handle(self, *args: Any, **options: Any) -> None:
        account = account_named(options["account"])
        told = Told()
        with acting(account):
            teller = Teller(account, told)
            for chapter in chapters():
                teller.tell(chapter)
            rows = MemoryEntry.objects.of(account)
            counts = {
                "waiting": rows.awaiting_review().count(),
                "pinned": rows.filter(pinned=True).count(),
                "forgotten": rows.filter(status=MemoryEntry.Status.FORGOTTEN).count(),
            }
        here = stack.url()
        self.stdout.write(
            TOLD.format(
                new=told.new,
                known=told.known,
                account=account.name,
                review=here + reverse("memory:review"),
                memories=here + reverse("memory:entries"),
                search=here + reverse("memory:api_search"),
                **counts,
            )
        )


class Teller:
    """Writes as agents do, and decides as a person does."""

    def __init__(self, account: Account, told: Told) -> None:
        self.account, self.told = account, told
        self.agent = Actor("key", _key_of(account).pk)
        self.person = _person_of(account)

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


def _key_of(account: Account) -> ApiKey:
    """The key that the invented agents write with. Nobody is told its secret."""
    known = ApiKey.objects.of(account).filter(name=KEY, revoked_at=None).first()
    if known:
        return known
    return issue_key(account_id=account.pk, name=KEY, scopes=[Scope.MEMORY_WRITE], actor=SYSTEM).key


def _person_of(account: Account) -> Actor:
    """Whoever administers the account decides; without anybody, the product."""
    admins = Membership.objects.of(account).filter(role=Membership.Role.ADMIN)
    first = admins.order_by("created_at").first()
    return Actor("user", first.user_id) if first else SYSTEM
