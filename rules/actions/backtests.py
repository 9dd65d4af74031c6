"""Backtests of a rule on recorded decisions, in steps with progress."""

from collections.abc import Sequence
from uuid import UUID

from django.utils import timezone

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import Actor
from kmapp.database.ids import uuid7
from kmapp.outbox.actions import Task, publish
from rules.actions.decisions import FeedbackCounts, load_feedback_counts
from rules.actions.rules import draft_of, get_rule
from rules.editing.rule_input import refuse
from rules.evaluation.compiled_rules import rules_of, written_of
from rules.evaluation.evaluate import Observation, Question, observe
from rules.evaluation.matching import Compiled, RuleSet, Viewer, compile_rule
from rules.models import RuleBacktest, RuleDecision
from rules.promotion.evidence import meant_for

BACKTEST = "rules.backtest"
MOST = 10_000  # decisions of one backtest
PIECE = 500  # decisions of one transaction
EXAMPLES = 20


def start(account_id: UUID, actor: Actor, rule_id: UUID, size: int = MOST) -> RuleBacktest:
    """Enqueue a backtest. Use inside `acting`."""
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


def run(account_id: UUID, run_id: UUID) -> None:
    """Run a backtest from its start; progress is visible after each piece."""
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
        shadow = compile_rule(written_of(test.rule, live=False))
        test.begin(total=len(ids), done=0, seen=0, matched=0, changed=0, examples=[])
    for first in range(0, len(ids), PIECE):
        with acting(account_id):
            _piece(test, shadow, ids[first : first + PIECE])
    with acting(account_id):
        test.end()


def _piece(test: RuleBacktest, shadow: Compiled, ids: Sequence[UUID]) -> None:
    account_id, rules = test.account_id, rules_of(test.account_id)
    decisions = RuleDecision.objects.of(account_id).in_bulk(list(ids))
    feedback_counts = load_feedback_counts(account_id, [*rules.rules, shadow])
    for pk in ids:
        decision = decisions.get(pk)  # None: deleted in the meantime
        seen = _observe(shadow, rules, decision, feedback_counts) if decision else None
        if seen is None:
            continue
        test.matched += seen.matched
        test.changed += seen.changed
        if seen.changed and len(test.examples) < EXAMPLES:
            example = {"before": dict(seen.before), "after": dict(seen.after)}
            test.examples.append({"decision": str(pk), **example})
    counts = {"matched": test.matched, "changed": test.changed, "examples": test.examples}
    done = test.done + len(ids)
    test.store(done=done, seen=done, **counts)


def _observe(
    shadow: Compiled, rules: RuleSet, decision: RuleDecision, feedback_counts: FeedbackCounts
) -> Observation | None:
    """Observe the rule as if it had been in shadow then, among the rules of today."""
    question = question_of(decision)
    live_edition = rules.live_editions.get(shadow.rule.lineage)
    if live_edition is None and not shadow.holds(question.context):
        return None
    live = rules.match(question.context, question.viewer).live
    return observe(shadow, question, live, live_edition, feedback_counts)


def question_of(decision: RuleDecision) -> Question:
    ids = {name: getattr(decision, name) for name in ("user_id", "agent_id", "app_id", "scope")}
    return Question(
        context=decision.context,
        viewer=Viewer(**ids),
        candidates=tuple(decision.candidates),
        strict=decision.strict,
    )
