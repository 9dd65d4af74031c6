"""Judgements: which memories are relevant to which questions."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID, uuid5

from django.utils import timezone
from django.utils.translation import gettext as _

from kmapp.accounts.actors import Actor
from kmapp.accounts.models import Account
from kmapp.accounts.redacted_text import redact_text
from kmapp.errors import NotFound
from kmapp.ledger.actions import recording
from kmapp.ledger.canonical import canonical
from memory.models import Judgement, MemoryEntry, Viewer
from memory.models.learning import OWNER_IDS

MOST = 500  # judgements of one commit
LONGEST = 4_000  # characters of a question


@dataclass(frozen=True, slots=True, kw_only=True)
class NewJudgement:
    question: str
    entry_id: UUID
    label: str
    viewer: Viewer = field(default_factory=Viewer)


def judge(
    account_id: UUID, actor: Actor, judgements: Sequence[NewJudgement], source: str
) -> list[Judgement]:
    """Store judgements in one commit, and return those that changed. Inside `acting`."""
    kinds = Account.objects.get(pk=account_id).redact
    wanted = {each.entry_id for each in judgements}
    known = set(
        MemoryEntry.objects.of(account_id).filter(pk__in=wanted).values_list("pk", flat=True)
    )
    if wanted - known:
        raise NotFound(_("Memory not found."))
    rows = {row.pk: row for each in judgements if (row := _build(account_id, each, source, kinds))}
    stored = Judgement.objects.of(account_id).select_for_update(no_key=True)
    existing = {row.pk: row for row in stored.filter(pk__in=list(rows)).order_by("pk")}
    changed = [
        row for pk, row in rows.items() if pk not in existing or existing[pk].label != row.label
    ]
    with recording(account_id, actor) as commit:
        for row in changed:
            row.judged_by, row.commit_id = str(actor), commit.id
            row.save(force_insert=row.pk not in existing)
            commit.add(row, "UPDATE" if row.pk in existing else "ADD")
    return changed


def _build(
    account_id: UUID, judgement: NewJudgement, source: str, kinds: Sequence[str]
) -> Judgement:
    question = redact_text(judgement.question.strip(), kinds)[:LONGEST]
    ids = {name: getattr(judgement.viewer, name) for name in OWNER_IDS}
    scope = judgement.viewer.scope or ""
    key = [question, *ids.values(), scope, str(judgement.entry_id), source]
    return Judgement(
        id=uuid5(account_id, canonical(key).decode()),
        account_id=account_id,
        question=question,
        **ids,
        scope=scope,
        entry_id=judgement.entry_id,
        label=judgement.label,
        source=source,
        created_at=timezone.now(),
    )
