"""Backtests of a rule on recorded decisions, in steps with progress."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from time import monotonic
from uuid import UUID

from django.utils import timezone

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import Actor
from kmapp.database.ids import uuid7
from kmapp.outbox.publish import NewJob, publish
from kmapp.outbox.registry import PermanentFailure, RetryLater
from rules.actions.decisions import load_feedback_counts
from rules.actions.record_versions import get_rule
from rules.actions.rules import build_draft
from rules.editing.rule_input import validate_rule
from rules.evaluation.matching import CompiledRule, RuleSet, RuleViewer, compile_rule
from rules.evaluation.rule_cache import build_definition, load_rules
from rules.evaluation.time_limit import TooSlow, limit_time
from rules.evaluation.tool_selection import (
    FeedbackCounts,
    Observation,
    SelectionRequest,
    observe_rule,
)
from rules.models import RuleBacktest, RuleDecision
from rules.promotion.evidence import list_audience_decisions

BACKTEST = "rules.backtest"
MAX_DECISIONS = 10_000  # decisions of one backtest
BATCH_SIZE = 500  # decisions that are evaluated at a time
BATCH_SECONDS = 60.0  # processor time of one batch
RUN_SECONDS = 120.0  # a run begins no batch after this: jobs are ended after 200 s
MAX_EXAMPLES = 20


def create_backtest(
    account_id: UUID, actor: Actor, rule_id: UUID, size: int = MAX_DECISIONS
) -> RuleBacktest:
    """Enqueue a backtest. Use inside `acting`."""
    rule = get_rule(account_id, rule_id)
    validate_rule(build_draft(rule))
    RuleBacktest.require_capacity(account_id)
    backtest = RuleBacktest(
        id=uuid7(),
        account_id=account_id,
        rule=rule,
        version=rule.version,
        wanted=min(size, MAX_DECISIONS),
        asked_by=str(actor),
        created_at=timezone.now(),
    )
    backtest.save(force_insert=True)
    publish(
        account_id,
        BACKTEST,
        [NewJob(job_key=f"{backtest.pk}:1", payload={"run": str(backtest.pk)})],
    )
    return backtest


def run_backtest(account_id: UUID, backtest_id: UUID) -> None:
    """Begin or continue a backtest; its progress is stored after each batch.

    Raises RetryLater after RUN_SECONDS. The next run continues there, or starts again if the rule
    has changed.
    """
    until = monotonic() + RUN_SECONDS
    with acting(account_id):
        backtest = RuleBacktest.objects.of(account_id).filter(pk=backtest_id).first()
        if backtest is None or backtest.status == backtest.Status.SUCCEEDED:
            return
        ids = list(
            list_audience_decisions(backtest.rule)
            .filter(created_at__lte=backtest.created_at)
            .order_by("-created_at", "-pk")
            .values_list("pk", flat=True)[: backtest.wanted]
        )
        shadow = compile_rule(build_definition(backtest.rule, live=False))
        if backtest.version != backtest.rule.version:
            backtest.store(done=0, seen=0, matched=0, changed=0, examples=[])
        backtest.begin(total=len(ids), version=backtest.rule.version)
    for start in range(backtest.done, len(ids), BATCH_SIZE):
        _evaluate_batch(backtest, shadow, ids[start : start + BATCH_SIZE])
        if backtest.done < len(ids) and monotonic() >= until:
            raise RetryLater("time_limit", seconds=0)
    with acting(account_id):
        backtest.end()


@contextmanager
def _limit_batch_time() -> Iterator[None]:
    try:
        with limit_time(BATCH_SECONDS):
            yield
    except TooSlow as error:
        raise PermanentFailure("The conditions take too long for these contexts.") from error


def _evaluate_batch(backtest: RuleBacktest, shadow: CompiledRule, ids: Sequence[UUID]) -> None:
    """Evaluate decisions and store the counts.

    The evaluation is outside a transaction, because the database would end an idle one.
    """
    account_id = backtest.account_id
    with acting(account_id):
        rules = load_rules(account_id)
        decisions = RuleDecision.objects.of(account_id).in_bulk(list(ids))
        feedback_counts = load_feedback_counts(account_id, [*rules.rules, shadow])
    with _limit_batch_time():
        for pk in ids:
            decision = decisions.get(pk)  # None: deleted in the meantime
            observation = (
                _observe_decision(shadow, rules, decision, feedback_counts) if decision else None
            )
            if observation is None:
                continue
            backtest.matched += observation.matched
            backtest.changed += observation.changed
            if observation.changed and len(backtest.examples) < MAX_EXAMPLES:
                example = {"before": dict(observation.before), "after": dict(observation.after)}
                backtest.examples.append({"decision": str(pk), **example})
    counts = {
        "matched": backtest.matched,
        "changed": backtest.changed,
        "examples": backtest.examples,
    }
    done = backtest.done + len(ids)
    with acting(account_id):
        backtest.store(done=done, seen=done, **counts)


def _observe_decision(
    shadow: CompiledRule, rules: RuleSet, decision: RuleDecision, feedback_counts: FeedbackCounts
) -> Observation | None:
    """Observe the rule on a decision as if it had been in shadow, with the active rules of now."""
    question = rebuild_request(decision)
    live_edition = rules.live_editions.get(shadow.rule.lineage)
    if live_edition is None and not shadow.matches(question.context):
        return None
    live = rules.match(question.context, question.viewer, with_shadow=False).live
    return observe_rule(shadow, question, live, live_edition, feedback_counts)


def rebuild_request(decision: RuleDecision) -> SelectionRequest:
    ids = {name: getattr(decision, name) for name in ("user_id", "agent_id", "app_id", "scope")}
    return SelectionRequest(
        context=decision.context,
        viewer=RuleViewer(**ids),
        candidates=tuple(decision.candidates),
        strict=decision.strict,
    )
