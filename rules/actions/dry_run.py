"""Dry run of a rule on a pasted context."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

from django.utils import timezone

from rules.actions.decisions import load_feedback_counts
from rules.editing.rendering import Line, condition_lines
from rules.editing.rule_input import NewRule
from rules.evaluation.compiled_rules import rules_of
from rules.evaluation.conditions import compiled
from rules.evaluation.evaluate import Question, policy_of
from rules.evaluation.matching import Compiled, RuleSet, Viewer, Written, compile_rule
from rules.evaluation.tool_selection import effect


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """What a rule makes of a context. `checks`: parts of the condition, and whether each holds."""

    holds: bool
    checks: Sequence[tuple[list[Line], bool]]
    blocked_by: Sequence[list[Line]]  # the exceptions that hold
    live: int  # rules that count and hold
    before: Mapping[str, Any]
    after: Mapping[str, Any]

    @property
    def changes(self) -> bool:
        return self.before != self.after


def tried(
    account_id: UUID, draft: NewRule, context: Any, candidates: Sequence[str], lineage: UUID | None
) -> Tried:
    """As if it counted, in the place of the edition that counts now. Use inside `acting`."""
    rules = rules_of(account_id)
    one = compile_rule(_written(draft, lineage))
    question = Question(
        context=context,
        viewer=_meant(draft),
        candidates=tuple(candidates) or _named(rules, one),
        strict=False,
    )
    live = rules.match(context, question.viewer).live
    holds = one.holds(context)
    others = [each for each in live if each.rule.lineage != one.rule.lineage]
    feedback_counts = load_feedback_counts(account_id, live)
    policies = [
        policy_of(each, feedback_counts) for each in (live, [*others, one] if holds else others)
    ]
    before, after = (effect(each, question.candidates, strict=False) for each in policies)
    parts = [{key: expected} for key, expected in draft.when.items()]
    return Tried(
        holds=holds,
        checks=[(condition_lines(part), compiled(part).holds(context)) for part in parts],
        blocked_by=[
            condition_lines(each) for each in draft.exceptions if compiled(each).holds(context)
        ],
        live=len(live),
        before=before,
        after=after,
    )


def _written(draft: NewRule, lineage: UUID | None) -> Written:
    key = uuid4()
    return Written(
        id=str(key),
        lineage=str(lineage or key),
        name=draft.name,
        live=False,
        when=draft.when,
        then=draft.then,
        exceptions=tuple(draft.exceptions),
        priority=draft.priority,
        weight=draft.weight,
        audience=draft.audience,
        audience_id=draft.audience_id,
        scope=draft.scope,
        created_at=timezone.now(),
        commit_id=key,
    )


def _meant(draft: NewRule) -> Viewer:
    """Whoever the rule is for."""
    ids = {} if draft.audience == "account" else {f"{draft.audience}_id": draft.audience_id}
    return Viewer(scope=draft.scope, **ids)


def _named(rules: RuleSet, one: Compiled) -> tuple[str, ...]:
    """Every tool that a rule speaks of, where nobody says which ones there are."""
    paths: set[str] = set()
    for each in (one, *rules.rules):
        tools = each.rule.then.get("tool", {})
        paths.update(name for names in tools.values() for name in names)
    return tuple(sorted(paths))[:200]
