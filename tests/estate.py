"""All that an account can own: a row in every table, said in words that nobody else uses."""

from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from django.db import connection
from django.db.models import Model
from rest_framework.test import APIClient

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account, ApiKey, Membership, User
from kmapp.ledger.checkpoints import checkpoint
from kmapp.ledger.models import Commit
from memory.models import ErasedEntry, MemoryEntry
from tests import makers
from tests.agent import Agent


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

    def id_of(self, model: type[Model]) -> Any:
        """The key of its oldest row of this kind."""
        if model is Account:
            return self.account.pk
        if model is User:
            return self.admin.pk
        with acting(self.account):
            rows = model._default_manager.filter(account=self.account)  # noqa: SLF001 - Django's name
            return rows.order_by("pk").values_list("pk", flat=True)[0]

    def tells(self, text: str) -> bool:
        """Whether a text says anything that only this account knows."""
        known = [self.word, str(self.account.pk)]
        known += [str(self.id_of(model)) for model in (MemoryEntry, Commit, ApiKey, Membership)]
        return any(word in text for word in known)

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
