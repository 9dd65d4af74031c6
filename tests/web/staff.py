"""Staff users of the Django admin, and rows in every table."""

from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from django.apps import apps
from django.db.models import Model
from django.utils import timezone

from context.actions.archives import store_archives
from context.actions.settings import change_settings
from context.models import ContextSettings
from context.models.archives import NewResult
from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account, User
from kmapp.api.models import IdempotentRequest
from kmapp.ledger.models import Mismatch
from kmapp.notifications.actions import notify
from kmapp.notifications.kernel_kinds import JOB_FAILED
from kmapp.notifications.models import Notification, NotificationRead, NotificationSettings
from kmapp.search.models import (
    CodeCentre,
    IndexedDocument,
    PackedCodes,
    PackedPostings,
    PackedReaderGroup,
    RemovedDocument,
)
from kmapp.web.models import DailyStatistics, Session, StoredSearch, SystemSample
from memory.actions.feedback import rate_entry
from memory.actions.record_export import record_export
from memory.actions.settings import update_policy
from memory.actions.write_entries import write_batch
from memory.models import (
    BulkPart,
    BulkRun,
    ErasedEntry,
    Extraction,
    Finding,
    MemoryEntry,
    MemoryExport,
    Ranking,
    ReviewLease,
    SavedView,
    TopicSuggestion,
    Triage,
)
from memory.models.entry_input import Batch, NewEntry
from tests import makers
from tests.context.builders import fill_calls
from tests.knowledge.builders import fill_knowledge
from tests.rules.builders import fill_rules

OURS = ("kmapp", "memory", "knowledge", "rules", "context")
# Postings are too many to inspect; sessions and searches are private; statistics are in charts.
# Mismatches are on the Operations page, and notifications on a page of their own.
NOT_IN_ADMIN = (
    *(
        CodeCentre,
        IndexedDocument,
        PackedReaderGroup,
        PackedCodes,
        PackedPostings,
        RemovedDocument,
        Session,
        StoredSearch,
        DailyStatistics,
        SystemSample,
        Mismatch,
    ),
    *(Notification, NotificationRead, NotificationSettings),
)
MODELS = [
    model
    for model in apps.get_models()
    if model.__module__.partition(".")[0] in OURS and model not in NOT_IN_ADMIN
]


def staff(account: Account, name: str, *, role: str = "admin") -> User:
    user = makers.member(account, name, role=role)
    User.objects.filter(pk=user.pk).update(is_staff=True, is_superuser=True)
    return user


def fill(account: Account, number: int = 2) -> list[MemoryEntry]:
    """Create rows in every table but the one of checkpoints, which `sign_all_heads` fills."""
    drafts = [
        NewEntry(text=f"{account.name} keeps thing {i}.", client_id=f"c{i}") for i in range(number)
    ]
    edges = [makers.edge("related_to", f"c{i}", f"c{i - 1}") for i in range(1, number)]
    name = f"viewer-{account.slug}"
    viewer = User.objects.filter(username=name).first() or makers.member(
        account, name, role="editor"
    )
    now = timezone.now()
    with acting(account):
        key = makers.key(account)[0]
        update_policy(account.pk, {"inject_max_memories": min(number, 50)}, actor=SYSTEM)
        written = write_batch(
            account_id=account.pk,
            actor=SYSTEM,
            batch=Batch(entries=drafts, edges=edges, input="said", reason="told"),
        )
        for i, entry in enumerate(written.entries):
            common: dict[str, Any] = {"account": account}
            ErasedEntry.objects.create(erased_at=now, commit_id=entry.commit_id, **common)
            makers.webhook(account, f"{account.slug} {i}")
            makers.invitation(account, f"{uuid4()}@example.test")
            login = uuid4().hex
            person = User.objects.create_user(username=login, email=f"{login}@example.test")
            makers.company_sign_in(account, person, login)
            record_export(account.pk, SYSTEM, form=MemoryExport.Form.CSV, query="", number=number)
            SavedView.objects.create(owner=viewer, name=f"{account.name} {uuid4()}", **common)
            rate_entry(makers.decision(entry), "neutral", used_in=str(i))
            Extraction.objects.create(
                kind="task",
                actor="system",
                said={"goal": f"{account.name} goal"},
                observed_at=now,
                created_at=now,
                **common,
            )
            IdempotentRequest.objects.create(
                key_id=key.pk,
                idempotency_key=str(entry.pk),
                fingerprint="f",
                lease_token=entry.pk,
                lease_until=now,
                expires_at=now,
                **common,
            )
        notify(account.pk, JOB_FAILED, "memory.handlers.embed")
        fill_knowledge(account, number)
        settings = ContextSettings.objects.get_or_default(account.pk)
        results = [NewResult(text=f"Result {i}.", tool_name="look") for i in range(number)]
        store_archives(settings, SYSTEM, results)
        change_settings(account.pk, {"archive_threshold": number}, actor=SYSTEM)
        fill_review_queue(account, written.entries)
        known = Ranking.objects.of(account).count()
        for i, entry in enumerate(written.entries[1:4], known + 1):
            state = {} if i == 1 else {"status": "draft", "shadowed_at": None}
            makers.learned_ranking(entry, number=i, **state)
    fill_rules(account, number)
    fill_calls(account, number)
    return list(written.entries)


def fill_review_queue(account: Account, entries: Sequence[MemoryEntry]) -> None:
    """Create rows of bulk actions and findings, and missing rows of the review of each entry."""
    now, common = timezone.now(), {"account": account}
    run = BulkRun.objects.create(deed="approve", actor="system", asked=1, created_at=now, **common)
    for number, entry in enumerate(entries):
        BulkPart.objects.create(run=run, number=number, chosen=[], **common)
        Finding.objects.create(entry=entry, kind="risk", name=f"r{run.pk.hex[-8:]}", **common)
        TopicSuggestion.objects.get_or_create(account=account, topic=entry, kind="split", score=0.4)
        if not Triage.objects.filter(entry=entry).exists():
            Triage.objects.create(
                entry=entry, need="new", version=1, by_meaning=False, checked_at=now, **common
            )
            ReviewLease.objects.create(
                entry=entry, holder=f"user:{entry.pk}", token=entry.pk, until=now, **common
            )


def address(model: type[Model], tail: str = "") -> str:
    return f"/admin/{model._meta.app_label}/{model._meta.model_name}/{tail}"
