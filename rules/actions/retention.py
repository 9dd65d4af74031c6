"""Retention of decisions."""

from datetime import timedelta
from uuid import UUID

from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from kmapp.accounts.acting import acting
from rules.models import RuleDecision, RuleFeedback, RuleObservation
from rules.promotion.evidence import book_of

BATCH = 500
MOST = 50_000  # of one account, in one run


def outlived(account_id: UUID, days: int | None) -> "QuerySet[RuleDecision]":
    """Return expired decisions, except those with feedback, which is permanent."""
    rows = RuleDecision.objects.of(account_id)
    if not days:
        return rows.none()
    feedback = RuleFeedback.objects.filter(account_id=OuterRef("account_id"))
    old = rows.filter(created_at__lt=timezone.now() - timedelta(days=days))
    return old.exclude(Exists(feedback.filter(decision_id=OuterRef("pk"))))


def remove_outlived(account_id: UUID, *, most: int = MOST) -> int:
    """Delete expired decisions, one batch in a transaction. Opens `acting` itself."""
    with acting(account_id):
        days = book_of(account_id).decision_days
    removed = 0
    while removed < most and (done := _remove_some(account_id, days)):
        removed += done
    return removed


def _remove_some(account_id: UUID, days: int | None) -> int:
    with acting(account_id):
        held = outlived(account_id, days).select_for_update(skip_locked=True)
        ids = list(held.order_by("created_at").values_list("pk", flat=True)[:BATCH])
        RuleObservation.objects.of(account_id).filter(decision_id__in=ids).delete()
        RuleDecision.objects.of(account_id).filter(pk__in=ids).delete()
    return len(ids)
