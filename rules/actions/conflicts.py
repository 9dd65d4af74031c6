"""Conflicts between rules: with the active ones, and in recorded decisions.

Looked for in recorded decisions: what never meets in practice costs nobody's time.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from uuid import UUID

from rules.actions.backtests import question_of
from rules.actions.decisions import load_feedback_counts
from rules.evaluation.compiled_rules import rules_of, written_of
from rules.evaluation.evaluate import policy_of
from rules.evaluation.matching import compile_rule
from rules.models import Rule, RuleDecision
from rules.promotion.evidence import observations_of

MAX_DECISIONS = 200  # decisions that a watching rule matched, the last ones
RECORDED = 2_000  # decisions with conflicts, the last ones


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
    """As if the rule counted now, in the place of its live edition; and how many were looked at."""
    decisions = _matched(rule)
    return _counted(_clashes(rule, decisions)), len(decisions)


def _matched(rule: Rule) -> list[RuleDecision]:
    """Return the last decisions that the rule matched in shadow."""
    seen = observations_of(rule).filter(matched=True).order_by("-created_at")
    ids = list(seen.values_list("decision_id", flat=True)[:MAX_DECISIONS])
    decisions = RuleDecision.objects.of(rule.account_id).in_bulk(ids)
    return [decisions[pk] for pk in ids if pk in decisions]


def _clashes(rule: Rule, decisions: Iterable[RuleDecision]) -> Iterator[Conflict]:
    rules, mine = rules_of(rule.account_id), str(rule.pk)
    watcher = compile_rule(written_of(rule, live=False))
    feedback_counts = load_feedback_counts(rule.account_id, [*rules.rules, watcher])
    for decision in decisions:
        question = question_of(decision)
        live = rules.match(question.context, question.viewer).live
        others = [one for one in live if one.rule.lineage != watcher.rule.lineage]
        for clash in policy_of([*others, watcher], feedback_counts).clashes:
            if mine in (clash.winner, *clash.losers):
                yield Conflict(
                    path=clash.path,
                    code=clash.code,
                    winner=UUID(clash.winner),
                    losers=tuple(map(UUID, clash.losers)),
                    decision=decision.pk,
                )


def recorded_conflicts(account_id: UUID, rule: UUID | None = None) -> list[Conflict]:
    """Those of the last decisions that had any, of all rules or of one."""
    rows = RuleDecision.objects.of(account_id).exclude(conflicts=[]).order_by("-created_at")
    counted_conflicts = _counted(_recorded(rows.only("conflicts")[:RECORDED]))
    return [one for one in counted_conflicts if rule is None or rule in (one.winner, *one.losers)]


def _recorded(decisions: Iterable[RuleDecision]) -> Iterator[Conflict]:
    for decision in decisions:
        for conflict in decision.conflicts:
            yield Conflict(
                path=conflict["path"],
                code=conflict["code"],
                winner=UUID(conflict["winner"]),
                losers=tuple(map(UUID, conflict["losers"])),
                decision=decision.pk,
            )


def _counted(counted_conflicts: Iterable[Conflict]) -> list[Conflict]:
    """Equal ones as one, the most frequent first; the first of equals names the decision."""
    counted: dict[tuple[object, ...], Conflict] = {}
    for one in counted_conflicts:
        key = (one.path, one.code, one.winner, one.losers)
        decisions = counted.get(key)
        counted[key] = replace(decisions, times=decisions.times + 1) if decisions else one
    return sorted(counted.values(), key=lambda one: (-one.times, one.path, str(one.winner)))
