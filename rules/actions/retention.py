"""Retention of decisions."""

from datetime import timedelta
from uuid import UUID

from django.db.models import Exists, OuterRef, QuerySet

from kmapp.accounts.acting import acting
from kmapp.database.steady_clock import SteadyTime
from rules.models import RuleDecision, RuleFeedback, RuleObservation
from rules.promotion.gate import load_settings

BATCH_SIZE = 500
MAX_DELETED = 50_000  # of one account, in one run


def list_expired_decisions(account_id: UUID, days: int | None) -> "QuerySet[RuleDecision]":
    """Return expired decisions, except those with feedback, which is permanent."""
    rows = RuleDecision.objects.of(account_id)
    if not days:
        return rows.none()
    feedback = RuleFeedback.objects.filter(account_id=OuterRef("account_id"))
    old = rows.filter(created_at__lt=SteadyTime() - timedelta(days=days))
    return old.exclude(Exists(feedback.filter(decision_id=OuterRef("pk"))))


def delete_expired_decisions(account_id: UUID) -> int:
    """Delete expired decisions, each batch in its own transaction. Opens `acting` itself."""
    with acting(account_id):
        days = load_settings(account_id).decision_days
    deleted = 0
    while deleted < MAX_DELETED and (number := _delete_batch(account_id, days)):
        deleted += number
    return deleted


def _delete_batch(account_id: UUID, days: int | None) -> int:
    with acting(account_id):
        expired = list_expired_decisions(account_id, days).select_for_update(skip_locked=True)
        ids = list(expired.order_by("created_at").values_list("pk", flat=True)[:BATCH_SIZE])
        RuleObservation.objects.of(account_id).filter(decision_id__in=ids).delete()
        RuleDecision.objects.of(account_id).filter(pk__in=ids).delete()
    return len(ids)
