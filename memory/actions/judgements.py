"""Judgements: which memories are relevant to which questions."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID, uuid5

from django.utils import timezone
from django.utils.translation import gettext as _

from kmapp.accounts.actors import Actor
from kmapp.accounts.erasure_registry import PersonalDataHandlers, register_personal_data
from kmapp.accounts.models import Account
from kmapp.accounts.pii_redaction import redact_text
from kmapp.database.bulk_insert import insert_rows
from kmapp.errors import NotFound
from kmapp.ledger.actions import Recording, recording
from kmapp.ledger.canonical import encode_canonical
from memory.actions.entry_locks import lock_entries
from memory.actions.shadow_comparisons import delete_comparisons_of_people
from memory.models import Judgement, RankingComparison, Viewer
from memory.models.entries import owner_of

MAX_JUDGEMENTS = 500  # judgements of one commit
MAX_QUESTION_LENGTH = 4_000  # characters of a question
Label = Judgement.Label
# How the API and files of judgements express each label.
LABELS = {True: Label.RELEVANT, False: Label.NOT_RELEVANT, None: Label.WITHDRAWN}
RELEVANT: Mapping[str, bool | None] = {label: value for value, label in LABELS.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class NewJudgement:
    question: str
    entry_id: UUID
    label: str
    viewer: Viewer = field(default_factory=Viewer)


def store_judgements(
    account_id: UUID, actor: Actor, judgements: Sequence[NewJudgement], source: str
) -> list[Judgement]:
    """Store judgements in one commit, and return those that changed. Inside `acting`."""
    kinds = Account.objects.get(pk=account_id).redact
    requested = {each.entry_id for each in judgements}
    # Lock the memories, so that none is erased meanwhile and equal judgements are stored only once.
    if requested - lock_entries(account_id, requested):
        raise NotFound(_("Memory not found."))
    built = [_build_judgement(account_id, each, source, kinds) for each in judgements]
    rows = {row.pk: row for row in built}  # the last of equal ones
    stored = Judgement.objects.of(account_id).select_for_update(no_key=True)
    existing = {row.pk: row for row in stored.filter(pk__in=list(rows)).order_by("pk")}
    changed = [
        row for pk, row in rows.items() if pk not in existing or existing[pk].label != row.label
    ]
    with recording(account_id, actor) as commit:
        for row in changed:
            row.judged_by, row.commit_id = str(actor), commit.id
        new = [row for row in changed if row.pk not in existing]
        replaced = [row for row in changed if row.pk in existing]
        insert_rows(new)
        Judgement.objects.bulk_update(replaced, ["label", "judged_by", "created_at", "commit"])
        commit.add_all(new, "ADD")
        commit.add_all(replaced, "UPDATE")
    return changed


def load_labels(
    account_id: UUID, question: str, viewer: Viewer, entry_ids: Collection[UUID]
) -> dict[UUID, str]:
    """Return how people judged these memories for a question. Inside `acting`."""
    kinds = Account.objects.get(pk=account_id).redact
    news = [
        NewJudgement(question=question, entry_id=pk, label="", viewer=viewer) for pk in entry_ids
    ]
    ids = [_build_judgement(account_id, each, Judgement.Source.PERSON, kinds).pk for each in news]
    return dict(Judgement.objects.of(account_id).filter(pk__in=ids).values_list("entry", "label"))


def _build_judgement(
    account_id: UUID, judgement: NewJudgement, source: str, kinds: Sequence[str]
) -> Judgement:
    question = redact_text(judgement.question.strip(), kinds)[:MAX_QUESTION_LENGTH]
    owner = owner_of(judgement.viewer)
    key = [question, *owner.values(), str(judgement.entry_id), source]
    return Judgement(
        id=uuid5(account_id, encode_canonical(key).decode()),
        account_id=account_id,
        question=question,
        **owner,
        entry_id=judgement.entry_id,
        label=judgement.label,
        source=source,
        created_at=timezone.now(),
    )


def _count_judgements_of_people(account_id: UUID, people: Collection[str]) -> int:
    return (
        Judgement.objects.of(account_id).filter(user_id__in=people).count()
        + RankingComparison.objects.of(account_id).filter(user_id__in=people).count()
    )


def _erase_judgements_of_people(
    account_id: UUID, people: Collection[str], commit: Recording
) -> None:
    delete_comparisons_of_people(account_id, people)
    judgements = Judgement.objects.of(account_id).filter(user_id__in=people)
    ids = list(judgements.values_list("pk", flat=True))
    for pk in ids:
        commit.erase(Judgement._meta.label_lower, pk)
    # Delete by id: a judgement that another transaction has added since is not in the commit.
    Judgement.objects.of(account_id).filter(pk__in=ids).delete()


register_personal_data(
    PersonalDataHandlers(count=_count_judgements_of_people, erase=_erase_judgements_of_people)
)
