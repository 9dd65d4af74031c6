"""Conflicts between rules: with the active ones, and in recorded decisions.

Both are searched in recorded decisions, so that rules that never meet in practice do not conflict.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from rules.actions.backtests import question_of
from rules.actions.decisions import load_feedback_counts
from rules.evaluation.compiled_rules import rules_of, written_of
from rules.evaluation.evaluate import policy_of
from rules.evaluation.matching import compile_rule
from rules.models import Rule, RuleDecision
from rules.promotion.evidence import observations_of

MAX_DECISIONS = 200  # the last decisions that a shadow rule matched
RECORDED = 2_000  # the last decisions with conflicts


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """Rules that clash over one place, and how often that happened."""

    path: str
    code: str
    winner: UUID
    losers: tuple[UUID, ...]
    decision: UUID  # the latest
    times: int = 1


def conflicts_with_live(rule: Rule) -> tuple[list[Conflict], int]:
    """Return the conflicts of the rule if it replaced its live edition, and the decisions checked.

    These are the last decisions that the rule matched in shadow.
    """
    seen = observations_of(rule).filter(matched=True).order_by("-created_at")
    ids = list(seen.values_list("decision_id", flat=True)[:MAX_DECISIONS])
    rows = RuleDecision.objects.of(rule.account_id).in_bulk(ids)
    decisions = [rows[pk] for pk in ids if pk in rows]
    if not decisions:
        return [], 0
    return _count(_clashes(rule, decisions)), len(decisions)


def _clashes(rule: Rule, decisions: Iterable[RuleDecision]) -> Iterator[Conflict]:
    rules, mine = rules_of(rule.account_id), str(rule.pk)
    shadow = compile_rule(written_of(rule, live=False))
    feedback_counts = load_feedback_counts(rule.account_id, [*rules.rules, shadow])
    for decision in decisions:
        question = question_of(decision)
        live = rules.match(question.context, question.viewer).live
        others = [one for one in live if one.rule.lineage != shadow.rule.lineage]
        for clash in policy_of([*others, shadow], feedback_counts).clashes:
            if mine in (clash.winner, *clash.losers):
                yield _conflict(decision, clash.path, clash.code, clash.winner, clash.losers)


def _conflict(
    decision: RuleDecision, path: str, code: str, winner: str, losers: Sequence[str]
) -> Conflict:
    return Conflict(
        path=path,
        code=code,
        winner=UUID(winner),
        losers=tuple(map(UUID, losers)),
        decision=decision.pk,
    )


def recorded_conflicts(account_id: UUID, rule: UUID | None = None) -> list[Conflict]:
    """Return the conflicts in the last decisions with any, of all rules or of one."""
    rows = RuleDecision.objects.of(account_id).exclude(conflicts=[]).order_by("-created_at")
    recorded = (
        _conflict(row, **conflict)
        for row in rows.only("conflicts")[:RECORDED]
        for conflict in row.conflicts
    )
    return [one for one in _count(recorded) if rule is None or rule in (one.winner, *one.losers)]


def _count(conflicts: Iterable[Conflict]) -> list[Conflict]:
    """Group equal conflicts, most frequent first; the first of a group names the decision."""
    counted: dict[tuple[object, ...], Conflict] = {}
    for one in conflicts:
        key = (one.path, one.code, one.winner, one.losers)
        before = counted.get(key)
        counted[key] = replace(before, times=before.times + 1) if before else one
    return sorted(counted.values(), key=lambda one: (-one.times, one.path, str(one.winner)))
