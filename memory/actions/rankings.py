"""Rankings: learned from labelled questions, run in shadow, promoted and rolled back."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db.models import Max
from django.utils import timezone
from django.utils.translation import gettext as _

from kmapp.accounts.actors import Actor
from kmapp.accounts.pii_redaction import redact_reason
from kmapp.database.advisory_locks import try_lock_until_commit
from kmapp.database.ids import uuid7
from kmapp.errors import Conflict, NotFound
from kmapp.ledger.actions import recording
from kmapp.outbox.publish import NewJob, publish
from memory.models import Ranking, RankingComparison
from memory.retrieval.active_rankings import clear_rankings_cache
from memory.retrieval.learning.questions import LabelledQuestion, list_labels, list_questions

LEARN = "memory.learn_ranking"
MIN_QUESTIONS = 20
Status = Ranking.Status
MOVES: Mapping[str, frozenset[str]] = {
    Status.LEARNING: frozenset(),
    Status.DRAFT: frozenset({Status.SHADOW, Status.RETIRED}),
    Status.SHADOW: frozenset({Status.ACTIVE, Status.DRAFT, Status.RETIRED}),
    Status.ACTIVE: frozenset({Status.RETIRED}),
    Status.RETIRED: frozenset({Status.SHADOW, Status.ACTIVE}),
}


def get_ranking(account_id: UUID, pk: UUID) -> Ranking:
    """Return a ranking. Raises NotFound. Inside `acting`."""
    ranking = Ranking.objects.of(account_id).filter(pk=pk).first()
    if ranking is None:
        raise NotFound(_("Ranking not found."))
    return ranking


def start_learning(account_id: UUID, actor: Actor) -> Ranking:
    """Enqueue learning, and return the ranking that it fills. Inside `acting`."""
    rows = Ranking.objects.of(account_id)
    is_free = try_lock_until_commit(f"learning:{account_id}")
    if not is_free or rows.filter(status=Status.LEARNING).exists():
        raise Conflict(_("A ranking is being learned. Wait until it is ready."), code="learning")
    require_questions(list_questions(account_id, list_labels(account_id)))
    # Comparisons of retired rankings are no longer needed.
    RankingComparison.objects.of(account_id).filter(ranking__status=Status.RETIRED).delete()
    with recording(account_id, actor) as commit:
        ranking = Ranking(
            id=uuid7(),
            account_id=account_id,
            commit_id=commit.id,
            number=(rows.aggregate(last=Max("number"))["last"] or 0) + 1,
            created_by=str(actor),
            created_at=timezone.now(),
        )
        ranking.save(force_insert=True)
        commit.add(ranking, "ADD")
    payload = {"ranking": str(ranking.pk)}
    publish(account_id, LEARN, [NewJob(job_key=f"{ranking.pk}:1", payload=payload)])
    return ranking


def require_questions(questions: list[LabelledQuestion]) -> None:
    """Refuse to learn from too few questions, of which half are held out."""
    held_out = sum(each.is_held_out for each in questions)
    if len(questions) < MIN_QUESTIONS or not 0 < held_out < len(questions):
        raise Conflict(
            _(
                "Learning needs at least %(least)d questions with a relevant memory. There are "
                "%(number)d."
            )
            % {"least": MIN_QUESTIONS, "number": len(questions)},
            code="too_few_questions",
            details={"questions": len(questions), "required": MIN_QUESTIONS},
        )


def change_status(
    account_id: UUID, ranking_id: UUID, actor: Actor, to: str, reason: str
) -> Ranking:
    """Change the status, and that of the ranking which it replaces. Inside `acting`.

    Retiring the active ranking rolls back: the ranking that it replaced is active again, or the
    shipped weights are used.
    """
    locked = Ranking.objects.of(account_id).select_for_update(no_key=True).order_by("pk")
    rows = {row.pk: row for row in locked}
    ranking = rows.get(ranking_id) or get_ranking(account_id, ranking_id)
    if ranking.status == to:
        return ranking
    _check_transition(ranking, to)
    changes = _list_status_changes(ranking, to, rows)
    reason = redact_reason(account_id, reason)
    with recording(account_id, actor, reason=reason) as commit:
        for row, values in changes:
            for name, value in {**values, "commit_id": commit.id}.items():
                setattr(row, name, value)
            row.save()
            commit.add(row, "UPDATE")
    clear_rankings_cache()
    return ranking


def _list_status_changes(
    ranking: Ranking, to: str, rows: Mapping[UUID, Ranking]
) -> list[tuple[Ranking, dict[str, Any]]]:
    """Return the new values of the ranking and of the one that it replaces or restores."""
    now, holder = timezone.now(), next((row for row in rows.values() if row.status == to), None)
    if to == Status.ACTIVE:
        replaced = [(holder, {"status": Status.RETIRED})] if holder else []
        since = {"activated_at": now, "replaced": holder.pk if holder else None}
        return [*replaced, (ranking, {"status": to, **since})]
    if to == Status.SHADOW:
        displaced = [(holder, {"status": Status.DRAFT})] if holder else []
        return [*displaced, (ranking, {"status": to, "shadowed_at": now})]
    is_live = ranking.status == Status.ACTIVE
    former = rows.get(ranking.replaced) if is_live and ranking.replaced else None
    restored = [(former, {"status": Status.ACTIVE})] if former else []
    # Clear `replaced`, or rollbacks of two rankings that replaced each other would alternate.
    forgotten = {"replaced": None} if is_live else {}
    return [(ranking, {"status": to, **forgotten}), *restored]


def _check_transition(ranking: Ranking, to: str) -> None:
    is_new = to == Status.ACTIVE and ranking.shadowed_at is None
    if to in MOVES[ranking.status] and not is_new and ranking.weights:
        return
    raise Conflict(
        _("A ranking with status %(status)s cannot become %(to)s.")
        % {"status": ranking.get_status_display(), "to": Status(to).label},
        code="invalid_move",
    )
