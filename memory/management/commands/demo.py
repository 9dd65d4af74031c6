"""manage.py demo: a small, invented, bilingual teahouse to look at."""

import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils.dateparse import parse_datetime

from kmapp.accounts.acting import acting
from kmapp.accounts.actions import issue_key
from kmapp.accounts.actors import SYSTEM, Actor
from kmapp.accounts.models import Account, ApiKey, Membership
from kmapp.accounts.scopes import Scope
from kmapp.management.accounts import account_named
from memory.actions import review
from memory.actions.entries import write
from memory.actions.proposals import propose_update
from memory.actions.review import Decision
from memory.drafts import Batch, NewEntry
from memory.models import MemoryEntry

DATA = Path(__file__).resolve().parents[2] / "demo" / "memories.json"
KEY = "demo agents"
# What the file says should happen to a memory once it is written.
DEEDS = {"approve": review.approve, "forget": review.forget, "pin": review.pin}


class Command(BaseCommand):
    help = "Fills an account with invented memories in two languages. Again changes nothing."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--account", metavar="SLUG", help="may be left out if there is one")

    def handle(self, *args: Any, **options: Any) -> None:
        account = account_named(options["account"])
        data = json.loads(DATA.read_text())
        agent, person = _agent(account), _person(account)
        made = sum(_write(account, agent, person, batch) for batch in data["batches"])
        if made:
            for update in data["updates"]:
                _propose(account, agent, update)
        with acting(account):
            waiting = MemoryEntry.objects.of(account).awaiting_review().count()
        self.stdout.write(
            f"{made} memories written, {waiting} wait for you under Review. "
            'Try a search: "how does Mateo like to be contacted" as user mateo, or 白茶 as linwen.'
        )


def _agent(account: Account) -> Actor:
    """The key in whose name agents wrote; nobody has its secret."""
    with acting(account):
        key = ApiKey.objects.of(account).filter(name=KEY).first()
        if key is None:
            scopes = [Scope.MEMORY_READ, Scope.MEMORY_WRITE]
            issued = issue_key(account_id=account.pk, name=KEY, scopes=scopes, actor=SYSTEM)
            key = issued.key
    return Actor("key", key.pk)


def _person(account: Account) -> Actor:
    """The first admin, in whose name the demo decides."""
    with acting(account):
        admins = Membership.objects.of(account).filter(role=Membership.Role.ADMIN)
        first = admins.order_by("created_at").first()
    if first is None:
        raise CommandError("The account has no admin yet: add one, then try again.")
    return Actor("user", first.user_id)


def _write(account: Account, agent: Actor, person: Actor, batch: dict[str, Any]) -> int:
    """Write a batch, and let the person decide what the file says. Returns how many were new."""
    nodes = [{**batch["ids"], **node} for node in batch["nodes"]]
    deeds = [{name: node.pop(name, None) for name in DEEDS} for node in nodes]
    drafts = [
        NewEntry(**{**node, "observed_at": parse_datetime(node.get("observed_at", ""))})
        for node in nodes
    ]
    with acting(account):
        written = write(
            account_id=account.pk, actor=agent, batch=Batch(entries=drafts, input=batch["input"])
        )
        for entry, wanted in zip(written.entries, deeds, strict=True):
            for name, said in wanted.items():
                if said and entry.pk in written.fresh:
                    reason = said if isinstance(said, str) else ""
                    DEEDS[name](
                        Decision(
                            account_id=account.pk, entry_id=entry.pk, actor=person, reason=reason
                        )
                    )
    return len(written.fresh)


def _propose(account: Account, agent: Actor, update: dict[str, str]) -> None:
    with acting(account):
        old = MemoryEntry.objects.of(account).get(client_id=update["client_id"])
        decision = Decision(
            account_id=account.pk, entry_id=old.pk, actor=agent, reason=update["reason"]
        )
        propose_update(decision, {"content": update["text"]})
