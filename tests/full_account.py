"""An account with rows in every table, whose texts contain a word that occurs nowhere else."""

from dataclasses import dataclass
from functools import cache
from unittest.mock import patch
from uuid import uuid4

from django.db import connection

from context.actions.settings import change_settings
from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account, User
from kmapp.database.psycopg_cursors import prepared_cursor
from kmapp.ledger.checkpoints import sign_all_heads
from kmapp.ledger.models import Mismatch
from kmapp.notifications.actions import mark_read, notify, save_settings
from kmapp.notifications.kernel_kinds import JOB_FAILED
from kmapp.notifications.models import Notification
from kmapp.search import vector_code_packing
from kmapp.search.models import RemovedDocument
from kmapp.search.posting_packing import pack_recent
from kmapp.web.site_search.stored_searches import record_search
from kmapp.web.statistics.daily import record_days
from memory.actions.record_export import record_export
from memory.actions.settings import update_policy
from memory.models import (
    BulkPart,
    BulkRun,
    ErasedEntry,
    Finding,
    MemoryEntry,
    MemoryExport,
    ReviewLease,
    SavedView,
    TopicSuggestion,
    Triage,
)
from memory.models.entries import COLLECTION
from tests import makers
from tests.context.builders import fill_calls
from tests.knowledge.builders import fill_knowledge
from tests.rules.builders import fill_rules

Fingerprint = dict[str, tuple[int, str | None]]


@dataclass(frozen=True, kw_only=True)
class FullAccount:
    account: Account
    admin: User
    word: str  # occurs in its texts, names and chosen ids, and nowhere else


def account_tables() -> dict[str, str]:
    """Return the column of the account by table, for all tables with rows of accounts."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid"
            " WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')"
            " AND a.attname = 'account_id' AND NOT a.attisdropped"
            # This table belongs to the previous release and is always empty.
            " AND c.relname <> 'search_termposting' ORDER BY 1"
        )
        return {"accounts_account": "id"} | {row[0]: "account_id" for row in cursor.fetchall()}


def fingerprint(account: Account) -> Fingerprint:
    """Return the number of rows of the account and a digest of them, by table."""
    with acting(account), prepared_cursor() as cursor:
        cursor.execute(_build_fingerprint_query(), {"account": account.pk})
        return {table: (number, digest) for table, number, digest in cursor.fetchall()}


@cache
def _build_fingerprint_query() -> str:
    return " UNION ALL ".join(
        f"SELECT '{table}', count(*), md5(string_agg(t::text, '|' ORDER BY t::text))"  # noqa: S608
        f" FROM {table} t WHERE {column} = %(account)s::uuid"
        for table, column in account_tables().items()
    )


def create_full_account(name: str) -> FullAccount:
    """Create an account with rows in every table, in a database with real commits."""
    word = f"{name.lower()}{uuid4().hex[:8]}"
    account = makers.account(word)
    admin = makers.member(account, f"ada-{word}", role="admin")
    agent = makers.agent(account)
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
    agent.post("memory/write", {"nodes": nodes}, 201, **{"Idempotency-Key": word})
    rating = {"client_id": f"{word}-2", "outcome": "positive", "reason": f"Used by {word}."}
    agent.post("memory/feedback", rating, 201)
    body = {"messages": f"I like the {word}.", "user_id": f"user-{word}"}
    agent.post("memory/add", body, 202)
    result = {"tool_name": f"look-{word}", "result": f"The {word} is open.", "threshold": 0}
    agent.post("tool-results", {**result, "conversation_id": f"run-{word}"}, 201)
    makers.settle()
    pack_recent(account.pk, COLLECTION, at_least=1)
    with patch.object(vector_code_packing, "MIN_SAMPLE", 1):
        vector_code_packing.pack_codes(account.pk, COLLECTION)
    with acting(account):
        RemovedDocument.objects.create(
            account=account, collection=word[:30], number=0, terms=[word]
        )
        entry = MemoryEntry.objects.of(account).earliest("pk")
        ErasedEntry.objects.create(
            account=account, erased_at=entry.created_at, commit_id=entry.commit_id
        )
        record_search(account.pk, admin, f"Search of {word}")
        SavedView.objects.create(account=account, owner=admin, name=f"View of {word}", shared=True)
        record_export(account.pk, SYSTEM, form=MemoryExport.Form.CSV, query="", number=3)
        update_policy(account.pk, {"inject_max_memories": 6}, actor=SYSTEM)
        change_settings(account.pk, {"retention_days": 30}, actor=SYSTEM)
        _fill_review_queue(account, entry)
        makers.learned_ranking(entry)
        notify(account.pk, JOB_FAILED, "memory.handlers.embed")
        mark_read(Notification.objects.of(account)[0], admin)
        save_settings(account.pk, admin, {"hour": 9})
    makers.webhook(account, f"hook-{word}")
    makers.invitation(account, f"{word}@example.test")
    makers.company_sign_in(account, admin, word)
    fill_rules(account, word=word)
    fill_knowledge(account, 1)
    fill_calls(account, 1, word=word)
    makers.settle()
    record_days(account.pk)
    sign_all_heads()
    return FullAccount(account=account, admin=admin, word=word)


def _fill_review_queue(account: Account, entry: MemoryEntry) -> None:
    common, now = {"account": account}, entry.created_at
    seen_at = {"first_seen_at": now, "last_seen_at": now}
    Mismatch.objects.create(
        object_type="x", object_id=entry.pk, reason="changed", **seen_at, **common
    )
    Finding.objects.create(entry=entry, kind="risk", name="instructions", **common)
    seen = {"need": "flagged", "version": 1, "by_meaning": True, "checked_at": now}
    Triage.objects.update_or_create(entry=entry, defaults=seen | common)
    ReviewLease.objects.create(entry=entry, holder="system", token=uuid4(), until=now, **common)
    TopicSuggestion.objects.create(topic=entry, kind="split", score=0.4, **common)
    run = BulkRun.objects.create(deed="approve", actor="system", asked=1, created_at=now, **common)
    BulkPart.objects.create(run=run, number=1, chosen=[], **common)
