"""Backtests of a rule on recorded decisions, in steps with progress."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.utils import timezone

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import Actor
from kmapp.database.ids import uuid7
from kmapp.outbox.actions import Task, publish
from rules.actions.decisions import load_feedback_counts
from rules.actions.rules import draft_of
from rules.actions.versions import get_rule
from rules.editing.rule_input import refuse
from rules.evaluation.compiled_rules import rules_of, written_of
from rules.evaluation.evaluate import Question, observe
from rules.evaluation.matching import Compiled, RuleSet, Viewer, compile_rule
from rules.models import RuleBacktest, RuleDecision
from rules.promotion.evidence import meant_for

BACKTEST = "rules.backtest"
MOST = 10_000
PIECE = 500  # decisions of one transaction
EXAMPLES = 20


def start(account_id: UUID, actor: Actor, rule_id: UUID, size: int = MOST) -> RuleBacktest:
    """Owe a backtest. Use inside `acting`; a worker runs it."""
    rule = get_rule(account_id, rule_id)
    refuse(draft_of(rule).issues())
    run = RuleBacktest(
        id=uuid7(),
        account_id=account_id,
        rule=rule,
        version=rule.version,
        wanted=min(size, MOST),
        asked_by=str(actor),
        created_at=timezone.now(),
    )
    run.save(force_insert=True)
    publish(account_id, BACKTEST, [Task(job_key=f"{run.pk}:1", payload={"run": str(run.pk)})])
    return run


@dataclass(slots=True)
class Tally:
    """What came out so far."""

    done: int = 0
    matched: int = 0
    changed: int = 0
    examples: list[dict[str, Any]] = field(default_factory=list)


def run(account_id: UUID, run_id: UUID) -> None:
    """Run one from its beginning, piece by piece; whoever looks sees how far it is."""
    with acting(account_id):
        test = RuleBacktest.objects.of(account_id).filter(pk=run_id).first()
        if test is None or test.status == test.Status.SUCCEEDED:
            return
        ids = list(
            meant_for(test.rule)
            .filter(created_at__lte=test.created_at)
            .order_by("-created_at", "-pk")
            .values_list("pk", flat=True)[: test.wanted]
        )
        watcher = compile_rule(written_of(test.rule, live=False))
        test.begin(total=len(ids))
    tally = Tally()
    for first in range(0, len(ids), PIECE):
        with acting(account_id):
            _piece(account_id, watcher, ids[first : first + PIECE], tally)
            test.store(**_columns(tally))
    with acting(account_id):
        test.end(**_columns(tally))


def _columns(tally: Tally) -> dict[str, Any]:
    return {
        "done": tally.done,
        "seen": tally.done,
        "matched": tally.matched,
        "changed": tally.changed,
        "examples": tally.examples,
    }


def _piece(account_id: UUID, watcher: Compiled, ids: Sequence[UUID], tally: Tally) -> None:
    rules = rules_of(account_id)
    decisions = RuleDecision.objects.of(account_id).in_bulk(list(ids))
    feedback_counts = load_feedback_counts(account_id, [*rules.rules, watcher])
    for pk in ids:
        tally.done += 1
        if pk not in decisions:
            continue  # dropped since
        seen = _tried(watcher, rules, decisions[pk], feedback_counts)
        if seen is None:
            continue
        tally.matched += seen.matched
        tally.changed += seen.changed
        if seen.changed and len(tally.examples) < EXAMPLES:
            tally.examples.append(
                {"decision": str(pk), "before": dict(seen.before), "after": dict(seen.after)}
            )


def _tried(watcher: Compiled, rules: RuleSet, decision: RuleDecision, feedback_counts: Any) -> Any:
    """As if the rule had watched when this was decided, among the rules of today."""
    question = question_of(decision)
    live_edition = rules.live_editions.get(watcher.rule.lineage)
    if live_edition is None and not watcher.holds(question.context):
        return None
    live = rules.match(question.context, question.viewer).live
    return observe(watcher, question, live, live_edition, feedback_counts)


def question_of(decision: RuleDecision) -> Question:
    return Question(
        context=decision.context,
        viewer=Viewer(
            user_id=decision.user_id,
            agent_id=decision.agent_id,
            app_id=decision.app_id,
            scope=decision.scope,
        ),
        candidates=tuple(decision.candidates),
        strict=decision.strict,
    )
