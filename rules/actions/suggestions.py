"""Suggestions from the evidence of each rule. Only people change states."""

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from django.utils import timezone

from kmapp.accounts.acting import acting
from kmapp.search.wilson_interval import Interval
from rules.models import Rule, RuleBook, RuleStatistics, RuleSuggestion
from rules.promotion.evidence import (
    FeedbackCounts,
    PromotionEvidence,
    count_feedback_in_shadow,
    list_audience_decisions,
    load_evidence,
)
from rules.promotion.gate import evaluate_gate, load_settings

MAX_RULES = 1_000  # of one account, the longest unchanged first
MIN_FEEDBACK = 10
IDLE_PERIOD = timedelta(days=30)
Kind = RuleSuggestion.Kind
State = Rule.State


def count_evaluated_rules(account_id: UUID) -> int:
    """Return the number of active and shadow rules. Opens `acting` itself."""
    with acting(account_id):
        return Rule.objects.of(account_id).evaluated().count()


def replace_suggestions(account_id: UUID) -> int:
    """Replace the suggestions of an account; return their number. Opens `acting` itself."""
    with acting(account_id):
        book = load_settings(account_id)
        evaluated = Rule.objects.of(account_id).evaluated().select_related("statistics")
        rules = list(evaluated.order_by("updated_at")[:MAX_RULES])
        feedback = count_feedback_in_shadow(rules)
        suggestions = [one for rule in rules if (one := _build_suggestion(rule, book, feedback))]
        RuleSuggestion.objects.of(account_id).delete()
        return len(RuleSuggestion.objects.bulk_create(_exclude_moved(account_id, suggestions)))


def _exclude_moved(account_id: UUID, suggestions: Sequence[RuleSuggestion]) -> list[RuleSuggestion]:
    """Return the suggestions for rules that nobody moved to another state meanwhile."""
    rows = Rule.objects.of(account_id).filter(pk__in=[one.rule_id for one in suggestions])
    states = dict(rows.values_list("pk", "state"))
    return [one for one in suggestions if states.get(one.rule_id) == one.rule.state]


def _build_suggestion(
    rule: Rule, book: RuleBook, feedback: FeedbackCounts
) -> RuleSuggestion | None:
    evidence, shadow = load_evidence(rule, feedback), rule.state == State.SHADOW
    kind = _suggest_for_shadow(rule, evidence, book) if shadow else _suggest_for_active(rule, book)
    if kind is None:
        return None
    return RuleSuggestion(
        account_id=rule.account_id,
        rule=rule,
        kind=kind,
        evidence=evidence.body(),
        created_at=timezone.now(),
    )


def _suggest_for_shadow(rule: Rule, evidence: PromotionEvidence, book: RuleBook) -> Kind | None:
    if evaluate_gate(evidence, book).is_open:
        return Kind.PROMOTE
    idle = rule.shadowed_at is not None and rule.shadowed_at < timezone.now() - IDLE_PERIOD
    return Kind.RETIRE if idle and evidence.seen and not evidence.matched else None


def _suggest_for_active(rule: Rule, book: RuleBook) -> Kind | None:
    statistics = RuleStatistics.objects.of(rule.account_id).filter(rule_id=rule.pk).first()
    if statistics:
        total = statistics.positive + statistics.negative
        against = Interval(statistics.negative, total)
        if total >= MIN_FEEDBACK and against.low > book.max_against:
            return Kind.DEMOTE
    since = timezone.now() - IDLE_PERIOD
    if rule.activated_at is None or rule.activated_at > since:
        return None
    recent = list_audience_decisions(rule).filter(created_at__gte=since)
    used = recent.filter(source_rule_ids__contains=[rule.pk])
    return Kind.RETIRE if recent.exists() and not used.exists() else None
