"""Data stored under a person's id: decisions about tools and feedback."""

from collections.abc import Collection
from uuid import UUID

from kmapp.accounts.erasure_registry import PersonalDataHandlers, register_personal_data
from kmapp.api.models import IdempotentRequest
from kmapp.ledger.actions import Recording
from kmapp.ledger.models import Note
from rules.actions.feedback import recount_feedback
from rules.models import RuleDecision, RuleFeedback, RuleObservation


def count_decisions(account_id: UUID, people: Collection[str]) -> int:
    return RuleDecision.objects.of(account_id).filter(user_id__in=people).count()


def erase_decisions(account_id: UUID, people: Collection[str], commit: Recording) -> None:
    """Erase decisions and feedback, and count the remaining feedback again."""
    decisions = RuleDecision.objects.of(account_id).filter(user_id__in=people)
    # Feedback takes the same lock on its decision, so none is added meanwhile.
    locked = decisions.order_by("pk").select_for_update(no_key=True)
    ids = list(locked.values_list("pk", flat=True))
    feedback = RuleFeedback.objects.of(account_id).filter(decision_id__in=ids)
    commit_by_feedback = dict(feedback.values_list("pk", "commit_id"))
    for pk in commit_by_feedback:
        commit.erase(RuleFeedback._meta.label_lower, pk)
    notes = Note.objects.of(account_id).filter(commit_id__in=commit_by_feedback.values())
    notes.update(salt=None, input=None, reason="")
    IdempotentRequest.objects.of(account_id).naming([*ids, *commit_by_feedback]).erase_responses()
    RuleFeedback.objects.of(account_id).filter(pk__in=commit_by_feedback).delete()
    RuleObservation.objects.of(account_id).filter(decision_id__in=ids).delete()
    RuleDecision.objects.of(account_id).filter(pk__in=ids).delete()
    if commit_by_feedback:
        recount_feedback(account_id)


register_personal_data(PersonalDataHandlers(count=count_decisions, erase=erase_decisions))
