"""All that an account can own: a row in every table, said in words that nobody else uses."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

from django.db import connection
from django.db.models import Model, QuerySet
from rest_framework.test import APIClient

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account, ApiKey, Membership, User
from kmapp.ledger.checkpoints import checkpoint
from kmapp.ledger.models import Commit
from kmapp.outbox.models import Delivery, OutboxEvent
from memory.models import ErasedEntry, MemoryEdge, MemoryEntry
from tests import makers
from tests.agent import Agent

# What has an address of its own.
OWNED: dict[type[Model], Callable[[Account], QuerySet[Any]]] = {
    MemoryEntry: MemoryEntry.objects.of,
    MemoryEdge: MemoryEdge.objects.of,
    Commit: Commit.objects.of,
    OutboxEvent: OutboxEvent.objects.of,
    Delivery: Delivery.objects.of,
    ApiKey: ApiKey.objects.of,
    Membership: Membership.objects.of,
}


@dataclass(frozen=True, kw_only=True)
class Estate:
    """An account with everything, and how to speak for it."""

    account: Account
    admin: User
    secret: str
    word: str  # occurs in its texts, names and ids of its own making, and nowhere else

    @property
    def agent(self) -> Agent:
        return Agent(APIClient(headers={"authorization": f"Bearer {self.secret}"}))

    def ids(self) -> dict[str, UUID]:
        """The id of one row of each kind that has an address."""
        with acting(self.account):
            first = {
                model.__name__: of(self.account).order_by("pk").values_list("pk", flat=True)[0]
                for model, of in OWNED.items()
            }
        return {"Account": self.account.pk, **first}

    def tells(self, text: str) -> bool:
        """Whether a text says anything that only this account knows."""
        return any(known in text for known in (self.word, *map(str, self.ids().values())))

    def fingerprint(self) -> dict[str, str]:
        """A digest of all rows of this account, table by table."""
        with acting(self.account), connection.cursor() as cursor:
            found = {}
            for table, column in account_tables().items():
                cursor.execute(
                    "SELECT md5(coalesce(string_agg(row::text, ' ' ORDER BY row::text), ''))"  # noqa: S608
                    f" FROM {table} row WHERE {column} = %s",
                    [self.account.pk],
                )
                found[table] = str(cursor.fetchone()[0])
            return found


def account_tables() -> dict[str, str]:
    """Every table that holds rows of accounts, and the column that says whose."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid"
            " WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')"
            " AND a.attname = 'account_id' AND NOT a.attisdropped ORDER BY 1"
        )
        return {"accounts_account": "id"} | {row[0]: "account_id" for row in cursor.fetchall()}


def estate(name: str) -> Estate:
    """Make an account own something of everything. Needs a database where commits are commits."""
    word = f"{name.lower()}{uuid4().hex[:8]}"
    account = makers.account(word)
    admin = makers.member(account, f"ada-{word}", role="admin")
    made = Estate(account=account, admin=admin, secret=makers.key(account)[1], word=word)
    nodes = [
        {"text": f"The {word} opens at nine.", "client_id": f"{word}-1"},
        {"text": f"The {word} closes at six.", "user_id": f"user-{word}", "run_id": f"run-{word}"},
        {"text": f"Bring the {word}.", "user_id": f"user-{word}", "run_id": f"run-{word}"},
    ]
    made.agent.post("memory/write", {"nodes": nodes}, 201, **{"Idempotency-Key": word})
    makers.settle()
    with acting(account):
        entry = MemoryEntry.objects.of(account).earliest("pk")
        ErasedEntry.objects.create(
            account=account, erased_at=entry.created_at, commit_id=entry.commit_id
        )
    checkpoint()
    return made
