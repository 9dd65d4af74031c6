"""Evidence of a rule in shadow, for its promotion."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Subquery, TextField, Value
from django.db.models.fields.json import KT
from django.db.models.functions import Coalesce

from kmapp.database.raw_sql import fetch_all
from kmapp.search.wilson_interval import Interval
from rules.models import (
    Rule,
    RuleDecision,
    RuleFeedback,
    RuleObservation,
    RuleStatistics,
    RuleVersion,
)

GOOD = (RuleFeedback.Outcome.POSITIVE,)
BAD = (RuleFeedback.Outcome.NEGATIVE, RuleFeedback.Outcome.VERY_NEGATIVE)
MAX_OBSERVATIONS = 10
MAX_TOOL_CHANGES = 20
FeedbackCounts = Mapping[UUID, tuple[int, int]]  # by rule: good and bad feedback

# In one scan for all rules, because `rule_ids` has no index.
_FEEDBACK_IN_SHADOW_SQL = """
SELECT r.id, count(*) FILTER (WHERE f.outcome = ANY (%s::text[])),
       count(*) FILTER (WHERE f.outcome = ANY (%s::text[]))
  FROM rules_rulefeedback f CROSS JOIN LATERAL unnest(f.rule_ids) AS u (id)
  JOIN unnest(%s::uuid[], %s::timestamptz[]) AS r (id, since)
    ON r.id = u.id AND f.created_at >= r.since
 WHERE f.account_id = %s AND f.created_at >= %s GROUP BY r.id
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromotionEvidence:
    """The observations of a rule in shadow, with the feedback on the actual decisions.

    Positive feedback on a decision that the rule would have changed is evidence against the rule,
    and negative feedback is evidence for it. Feedback on the rule itself counts as well.
    """

    seen: int
    matched: int
    changed: int
    changed_good: int
    changed_bad: int
    same_good: int
    same_bad: int
    said_good: int
    said_bad: int

    @property
    def change(self) -> Interval:
        return Interval(self.changed, self.seen)

    @property
    def match(self) -> Interval:
        return Interval(self.matched, self.seen)

    @property
    def against(self) -> Interval:
        against = self.changed_good + self.said_bad
        return Interval(against, against + self.changed_bad + self.said_good)

    def body(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class ToolChange:
    """Decisions that would have changed from one tool to another, with their actual feedback.

    None is no tool. With equal tools, another part of the decision would have changed.
    """

    selected: str | None
    would_select: str | None
    times: int
    positive: int
    negative: int


def load_evidence(rule: Rule, feedback: FeedbackCounts | None = None) -> PromotionEvidence:
    """Return the evidence of the last time in shadow. Inside `acting`; at most five queries.

    `feedback` has the counts of `count_feedback_in_shadow`, if they are loaded for several rules.
    """
    # In Django, a name of an aggregate hides the column of that name in later filters.
    counts = list_observations(rule).aggregate(
        number_matched=Count("pk", filter=Q(matched=True)),
        number_changed=Count("pk", filter=Q(changed=True)),
        changed_good=Count("pk", filter=Q(changed=True) & Q(has_feedback(GOOD))),
        changed_bad=Count("pk", filter=Q(changed=True) & Q(has_feedback(BAD))),
        same_good=Count("pk", filter=Q(changed=False) & Q(has_feedback(GOOD))),
        same_bad=Count("pk", filter=Q(changed=False) & Q(has_feedback(BAD))),
    )
    matched, changed = counts.pop("number_matched"), counts.pop("number_changed")
    said_good, said_bad = _count_feedback_on_rule(rule, feedback)
    return PromotionEvidence(
        # Decisions may have been deleted since their observations were counted.
        seen=max(_list_decisions_in_shadow(rule).count(), matched, changed),
        said_good=said_good,
        said_bad=said_bad,
        matched=matched,
        changed=changed,
        **counts,
    )


def _count_feedback_on_rule(rule: Rule, feedback: FeedbackCounts | None) -> tuple[int, int]:
    """Return the good and the bad feedback on the rule: of a rule in shadow, since it moved there.

    Feedback from before, for example while it was active, must not open the gate again.
    """
    statistics: RuleStatistics | None = getattr(rule, "statistics", None)
    if statistics is None:
        return 0, 0
    if rule.state != Rule.State.SHADOW or rule.shadowed_at is None:
        return statistics.positive, statistics.negative
    counts = count_feedback_in_shadow([rule]) if feedback is None else feedback
    return counts.get(rule.pk, (0, 0))


def count_feedback_in_shadow(rules: Iterable[Rule]) -> FeedbackCounts:
    """Return the good and the bad feedback on rules in shadow since they moved there.

    The rules are of one account; those without feedback are missing. One query. Inside `acting`.
    """
    in_shadow = [rule for rule in rules if rule.state == Rule.State.SHADOW and rule.shadowed_at]
    if not in_shadow:
        return {}
    times = [rule.shadowed_at for rule in in_shadow if rule.shadowed_at]
    values = [
        [outcome.value for outcome in GOOD],
        [outcome.value for outcome in BAD],
        [rule.pk for rule in in_shadow],
        times,
        in_shadow[0].account_id,
        min(times),
    ]
    return {pk: (good, bad) for pk, good, bad in fetch_all(_FEEDBACK_IN_SHADOW_SQL, values)}


def has_feedback(outcomes: Sequence[str]) -> Exists:
    """Return whether the decision of an observation has feedback with one of the outcomes."""
    return Exists(
        RuleFeedback.objects.filter(
            account_id=OuterRef("account_id"),
            decision_id=OuterRef("decision_id"),
            outcome__in=outcomes,
        )
    )


def list_observations(rule: Rule) -> "QuerySet[RuleObservation]":
    rows = RuleObservation.objects.of(rule.account_id).filter(rule_id=rule.pk)
    return rows.filter(created_at__gte=rule.shadowed_at) if rule.shadowed_at else rows.none()


def _list_decisions_in_shadow(rule: Rule) -> "QuerySet[RuleDecision]":
    decisions, since = list_audience_decisions(rule), rule.shadowed_at
    if since is None:
        return decisions.none()
    decisions = decisions.filter(created_at__gte=since)
    if rule.state == Rule.State.SHADOW:
        return decisions
    later = RuleVersion.objects.of(rule.account_id).filter(rule_id=rule.pk, created_at__gt=since)
    left = (
        later.exclude(state__state=Rule.State.SHADOW.value).order_by("version").values("created_at")
    )
    return decisions.filter(created_at__lt=Subquery(left[:1]))


def list_audience_decisions(rule: Rule) -> "QuerySet[RuleDecision]":
    """Return the decisions for the audience of the rule, or of the edition that it replaces.

    Those that have an observation of the rule are included, whatever is active now.
    """
    rows = RuleDecision.objects.of(rule.account_id).filter(scope=rule.scope)
    if rule.audience == Rule.Audience.ACCOUNT:
        return rows
    active = Rule.objects.of(rule.account_id).filter(lineage=rule.lineage, state=Rule.State.ACTIVE)
    observations = RuleObservation.objects.of(rule.account_id).filter(rule_id=rule.pk)
    condition = Q(Exists(observations.filter(decision_id=OuterRef("pk"))))
    condition |= Q(**{f"{rule.audience}_id": rule.audience_id})
    for audience, audience_id in active.values_list("audience", "audience_id"):
        if audience == Rule.Audience.ACCOUNT:
            return rows
        condition |= Q(**{f"{audience}_id": audience_id})
    return rows.filter(condition)


def list_changed_observations(rule: Rule) -> list[RuleObservation]:
    rows = list_observations(rule).filter(changed=True).select_related("decision")
    return list(rows.order_by("-created_at")[:MAX_OBSERVATIONS])


def load_feedback(account_id: UUID, decisions: Sequence[UUID]) -> dict[UUID, list[RuleFeedback]]:
    feedback_by_decision: dict[UUID, list[RuleFeedback]] = {}
    for row in RuleFeedback.objects.of(account_id).filter(decision__in=decisions).order_by("pk"):
        feedback_by_decision.setdefault(row.decision_id, []).append(row)  # type: ignore[arg-type]
    return feedback_by_decision


def list_tool_changes(rule: Rule) -> list[ToolChange]:
    """Return tool changes by frequency, most frequent first. One query."""
    rows = list_observations(rule).filter(changed=True).order_by()
    tools = rows.annotate(
        before=F("decision__selected_tool"),
        tool=Coalesce(KT("after__selected"), Value(""), output_field=TextField()),
    )
    counted = tools.values("before", "tool").annotate(
        times=Count("pk"),
        good=Count("pk", filter=Q(has_feedback(GOOD))),
        bad=Count("pk", filter=Q(has_feedback(BAD))),
    )
    ranked = counted.order_by("-times", "before", "tool")
    columns = ("before", "tool", "times", "good", "bad")
    changes = ranked.values_list(*columns)[:MAX_TOOL_CHANGES]
    return [ToolChange(before or None, tool or None, *counts) for before, tool, *counts in changes]
