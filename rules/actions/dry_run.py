"""Dry run of a rule on a pasted context."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

from django.utils import timezone
from django.utils.translation import gettext as _

from kmapp.errors import Invalid
from rules.actions.decisions import load_feedback_counts
from rules.actions.rules import DESCRIPTION_FIELDS, RULE_FIELDS
from rules.editing.rendering import ConditionLine, render_condition
from rules.editing.rule_input import NewRule
from rules.evaluation.conditions import compile_condition
from rules.evaluation.equality import is_equal
from rules.evaluation.matching import CompiledRule, RuleSet, RuleViewer, compile_rule
from rules.evaluation.rule_cache import build_definition, load_rules
from rules.evaluation.time_limit import TooSlow, limit_time
from rules.evaluation.tool_selection import SelectionRequest, build_effect, build_policy
from rules.models import Rule

MAX_SECONDS = 5.0  # processor time of one dry run, for which a person waits


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRun:
    """The outcome of a rule for a context; `checks` are the parts of its condition."""

    matches: bool
    checks: Sequence[tuple[list[ConditionLine], bool]]
    blocked_by: Sequence[list[ConditionLine]]  # the exceptions that hold
    live: int  # active rules that hold
    before: Mapping[str, Any]
    after: Mapping[str, Any]

    @property
    def changes(self) -> bool:
        return not is_equal(self.before, self.after)


@contextmanager
def _limit_dry_run_time() -> Iterator[None]:
    try:
        with limit_time(MAX_SECONDS):
            yield
    except TooSlow as error:
        raise Invalid(_("The conditions take too long for this context.")) from error


@_limit_dry_run_time()
def dry_run(
    account_id: UUID, draft: NewRule, context: Any, candidates: Sequence[str], lineage: UUID | None
) -> DryRun:
    """Try a draft as if it were active instead of its active edition. Use inside `acting`.

    Raise Invalid if its conditions take too long.
    """
    rules, key = load_rules(account_id), uuid4()
    columns = {name: getattr(draft, name) for name in (*DESCRIPTION_FIELDS, *RULE_FIELDS)}
    ids = {"id": key, "commit_id": key, "lineage": lineage or key}
    row = Rule(**ids, **columns, scope=draft.scope, created_at=timezone.now())
    compiled = compile_rule(build_definition(row, live=False))
    audience = {} if draft.audience == "account" else {f"{draft.audience}_id": draft.audience_id}
    question = SelectionRequest(
        context=context,
        viewer=RuleViewer(scope=draft.scope, **audience),
        candidates=tuple(candidates) or _list_tools(rules, compiled),
        strict=False,
    )
    live = rules.match(context, question.viewer, with_shadow=False).live
    holds = compiled.matches(context)
    others = [each for each in live if each.rule.lineage != compiled.rule.lineage]
    feedback_counts = load_feedback_counts(account_id, live)
    policies = [
        build_policy(each, feedback_counts)
        for each in (live, [*others, compiled] if holds else others)
    ]
    before, after = (build_effect(each, question.candidates, strict=False) for each in policies)
    parts = [{key: expected} for key, expected in draft.when.items()]
    return DryRun(
        matches=holds,
        checks=[
            (render_condition(part), compile_condition(part).matches(context)) for part in parts
        ],
        blocked_by=[
            render_condition(each)
            for each in draft.exceptions
            if compile_condition(each).matches(context)
        ],
        live=len(live),
        before=before,
        after=after,
    )


def _list_tools(rules: RuleSet, one: CompiledRule) -> tuple[str, ...]:
    """Return the tools that rules name, for a context without candidates."""
    lists = [each.rule.then.get("tool", {}).values() for each in (one, *rules.rules)]
    return tuple(sorted({name for names in lists for tools in names for name in tools}))[:200]
