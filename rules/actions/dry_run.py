"""Dry run of a rule on a pasted context."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

from django.utils import timezone

from rules.actions.decisions import load_feedback_counts
from rules.actions.rules import DESCRIPTION_FIELDS, RULE_FIELDS
from rules.editing.rendering import Line, condition_lines
from rules.editing.rule_input import NewRule
from rules.evaluation.compiled_rules import rules_of, written_of
from rules.evaluation.conditions import compiled
from rules.evaluation.evaluate import Question, effect, policy_of
from rules.evaluation.matching import Compiled, RuleSet, Viewer, compile_rule
from rules.models import Rule


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRun:
    """The outcome of a rule for a context; `checks` are the parts of its condition."""

    holds: bool
    checks: Sequence[tuple[list[Line], bool]]
    blocked_by: Sequence[list[Line]]  # the exceptions that hold
    live: int  # active rules that hold
    before: Mapping[str, Any]
    after: Mapping[str, Any]

    @property
    def changes(self) -> bool:
        return self.before != self.after


def dry_run(
    account_id: UUID, draft: NewRule, context: Any, candidates: Sequence[str], lineage: UUID | None
) -> DryRun:
    """Try a draft as if it were active instead of its active edition. Use inside `acting`."""
    rules, key = rules_of(account_id), uuid4()
    columns = {name: getattr(draft, name) for name in (*DESCRIPTION_FIELDS, *RULE_FIELDS)}
    ids = {"id": key, "commit_id": key, "lineage": lineage or key}
    row = Rule(**ids, **columns, scope=draft.scope, created_at=timezone.now())
    one = compile_rule(written_of(row, live=False))
    audience = {} if draft.audience == "account" else {f"{draft.audience}_id": draft.audience_id}
    question = Question(
        context=context,
        viewer=Viewer(scope=draft.scope, **audience),
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
    return DryRun(
        holds=holds,
        checks=[(condition_lines(part), compiled(part).holds(context)) for part in parts],
        blocked_by=[
            condition_lines(each) for each in draft.exceptions if compiled(each).holds(context)
        ],
        live=len(live),
        before=before,
        after=after,
    )


def _named(rules: RuleSet, one: Compiled) -> tuple[str, ...]:
    """Return the tools that rules name, for a context without candidates."""
    lists = [each.rule.then.get("tool", {}).values() for each in (one, *rules.rules)]
    return tuple(sorted({name for names in lists for tools in names for name in tools}))[:200]
