"""Conflicts of a shadow rule with active rules, and conflicts that decisions recorded.

Both come from recorded decisions, so rules that never match the same context do not conflict.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from time import thread_time
from uuid import UUID

from rules.actions.backtests import rebuild_request
from rules.actions.decisions import load_feedback_counts
from rules.evaluation.matching import compile_rule
from rules.evaluation.rule_cache import build_definition, load_rules
from rules.evaluation.tool_selection import build_policy
from rules.models import Rule, RuleDecision
from rules.promotion.evidence import list_observations

MAX_MATCHED_DECISIONS = 200  # the last decisions that a shadow rule matched
MAX_SECONDS = 0.5  # processor time to match the rules against these decisions
MAX_CONFLICTING_DECISIONS = 2_000  # the last decisions with conflicts


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleConflict:
    """Rules with different effects on one path, and the number of decisions with this conflict."""

    path: str
    code: str
    winner: UUID
    losers: tuple[UUID, ...]
    decision: UUID  # the latest
    times: int = 1


def list_live_conflicts(rule: Rule) -> tuple[list[RuleConflict], int]:
    """Return the conflicts of the rule in place of its live edition, and the decisions checked.

    The decisions are the last ones that the rule matched in shadow, as many as can be checked in
    MAX_SECONDS, because a request waits for the result.
    """
    seen = list_observations(rule).filter(matched=True).order_by("-created_at")
    ids = list(seen.values_list("decision_id", flat=True)[:MAX_MATCHED_DECISIONS])
    rows = RuleDecision.objects.of(rule.account_id).in_bulk(ids)
    decisions = [rows[pk] for pk in ids if pk in rows]
    if not decisions:
        return [], 0
    by_decision = list(_detect_conflicts(rule, decisions))
    return _group_conflicts(chain.from_iterable(by_decision)), len(by_decision)


def _detect_conflicts(
    rule: Rule, decisions: Iterable[RuleDecision]
) -> Iterator[list[RuleConflict]]:
    """Yield the conflicts in each decision, at least in the first one, until the time is over."""
    rules, rule_id = load_rules(rule.account_id), str(rule.pk)
    shadow = compile_rule(build_definition(rule, live=False))
    feedback_counts = load_feedback_counts(rule.account_id, [*rules.rules, shadow])
    deadline = thread_time() + MAX_SECONDS
    for decision in decisions:
        question = rebuild_request(decision)
        live = rules.match(question.context, question.viewer, with_shadow=False).live
        others = [one for one in live if one.rule.lineage != shadow.rule.lineage]
        yield [
            _build_conflict(decision, **conflict.body())
            for conflict in build_policy([*others, shadow], feedback_counts).conflicts
            if rule_id in (conflict.winner, *conflict.losers)
        ]
        if thread_time() > deadline:
            return


def _build_conflict(
    decision: RuleDecision, path: str, code: str, winner: str, losers: Sequence[str]
) -> RuleConflict:
    return RuleConflict(
        path=path,
        code=code,
        winner=UUID(winner),
        losers=tuple(map(UUID, losers)),
        decision=decision.pk,
    )


def list_recorded_conflicts(account_id: UUID, rule: UUID | None = None) -> list[RuleConflict]:
    """Return the conflicts in the last decisions with any, of all rules or of one."""
    rows = RuleDecision.objects.of(account_id).exclude(conflicts=[]).order_by("-created_at")
    recorded = (
        _build_conflict(row, **conflict)
        for row in rows.only("conflicts")[:MAX_CONFLICTING_DECISIONS]
        for conflict in row.conflicts
    )
    return [
        one
        for one in _group_conflicts(recorded)
        if rule is None or rule in (one.winner, *one.losers)
    ]


def _group_conflicts(conflicts: Iterable[RuleConflict]) -> list[RuleConflict]:
    """Group equal conflicts, most frequent first; the first of a group names the decision."""
    groups: dict[tuple[object, ...], RuleConflict] = {}
    for one in conflicts:
        key = (one.path, one.code, one.winner, one.losers)
        existing = groups.get(key)
        groups[key] = replace(existing, times=existing.times + 1) if existing else one
    return sorted(groups.values(), key=lambda one: (-one.times, one.path, str(one.winner)))
