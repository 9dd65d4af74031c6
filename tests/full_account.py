"""All that an account can own: a row in every table, said in words that nobody else uses."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

from django.db import connection
from django.db.models import Model, QuerySet
from rest_framework.test import APIClient

from context.actions.settings import change_settings
from context.models import ContextComparison, ContextCostReport, ToolResultArchive
from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account, ApiKey, Membership, User
from kmapp.ledger.checkpoints import checkpoint
from kmapp.ledger.models import Commit
from kmapp.outbox.models import Delivery, OutboxEvent
from memory.actions.exports import record_export
from memory.actions.settings import update_policy
from memory.models import (
    BulkPart,
    BulkRun,
    ErasedEntry,
    Finding,
    MemoryEdge,
    MemoryEntry,
    MemoryExport,
    ReviewLease,
    SavedView,
    TopicSuggestion,
    Triage,
)
from rules.models import Rule, RuleDecision, RulePromotion
from tests import makers
from tests.agent import Agent
from tests.context.builders import fill_calls
from tests.knowledge.deliveries import fill_knowledge
from tests.rules.builders import fill_rules

# What has an address of its own.
OWNED: dict[type[Model], Callable[[Account], QuerySet[Any]]] = {
    MemoryEntry: MemoryEntry.objects.of,
    MemoryEdge: MemoryEdge.objects.of,
    ToolResultArchive: ToolResultArchive.objects.of,
    ContextCostReport: ContextCostReport.objects.of,
    ContextComparison: ContextComparison.objects.of,
    Commit: Commit.objects.of,
    OutboxEvent: OutboxEvent.objects.of,
    Delivery: Delivery.objects.of,
    ApiKey: ApiKey.objects.of,
    Membership: Membership.objects.of,
    Rule: Rule.objects.of,
    RuleDecision: RuleDecision.objects.of,
    RulePromotion: RulePromotion.objects.of,
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
        {
            "text": f"Bring the {word}.",
            "client_id": f"{word}-2",
            "user_id": f"user-{word}",
            "run_id": f"run-{word}",
        },
    ]
    made.agent.post("memory/write", {"nodes": nodes}, 201, **{"Idempotency-Key": word})
    rating = {"client_id": f"{word}-2", "outcome": "positive", "reason": f"Used by {word}."}
    made.agent.post("memory/feedback", rating, 201)
    said = {"messages": f"I like the {word}.", "user_id": f"user-{word}"}
    made.agent.post("memory/add", said, 202)
    result = {"tool_name": f"look-{word}", "result": f"The {word} is open.", "threshold": 0}
    made.agent.post("tool-results", {**result, "conversation_id": f"run-{word}"}, 201)
    makers.settle()
    with acting(account):
        entry = MemoryEntry.objects.of(account).earliest("pk")
        ErasedEntry.objects.create(
            account=account, erased_at=entry.created_at, commit_id=entry.commit_id
        )
        SavedView.objects.create(account=account, owner=admin, name=f"View of {word}", shared=True)
        record_export(account.pk, SYSTEM, form=MemoryExport.Form.CSV, query="", number=3)
        update_policy(account.pk, {"inject_max_memories": 6}, actor=SYSTEM)
        change_settings(account.pk, {"retention_days": 30}, actor=SYSTEM)
        _at_the_desk(account, entry)
    fill_rules(account, word=word)
    fill_knowledge(account, 1)
    fill_calls(account, 1, word=word)
    makers.settle()
    checkpoint()
    return made


def _at_the_desk(account: Account, entry: MemoryEntry) -> None:
    """What the review queue keeps beside a proposal."""
    common, now = {"account": account}, entry.created_at
    Finding.objects.create(entry=entry, kind="risk", name="instructions", **common)
    seen = {"need": "flagged", "version": 1, "by_meaning": True, "checked_at": now}
    Triage.objects.update_or_create(entry=entry, defaults=seen | common)
    ReviewLease.objects.create(entry=entry, holder="system", token=uuid4(), until=now, **common)
    TopicSuggestion.objects.create(topic=entry, kind="split", score=0.4, **common)
    run = BulkRun.objects.create(deed="approve", actor="system", asked=1, created_at=now, **common)
    BulkPart.objects.create(run=run, number=1, chosen=[], **common)
