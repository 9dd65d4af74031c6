"""Feedback on decisions, counted once per outcome, and on rules."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any
from uuid import UUID, uuid5

from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils import timezone

from kmapp.accounts.actors import Actor
from kmapp.accounts.models import Account, AccountQuerySet
from kmapp.accounts.pii_redaction import redact_text
from kmapp.database.ids import uuid7
from kmapp.database.keyed_digests import keyed_digests
from kmapp.errors import Invalid, NotFound
from kmapp.ledger.actions import recording
from kmapp.ledger.canonical import encode_canonical
from kmapp.ledger.models import Commit
from rules.actions.decisions import record_selection
from rules.actions.record_versions import get_rule
from rules.evaluation.tool_selection import SelectionRequest
from rules.models import Rule, RuleDecision, RuleFeedback, RuleObservation, RuleStatistics

Outcome = RuleFeedback.Outcome
OUTCOME_COLUMNS = {
    Outcome.POSITIVE: "positive",
    Outcome.NEUTRAL: "neutral",
    Outcome.NEGATIVE: "negative",
    Outcome.VERY_NEGATIVE: "negative",
}
DIGEST = re.compile("[0-9a-f]{64}")  # may be sent in place of the text with the outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedOutcome:
    """An outcome that a person or an agent reports."""

    account_id: UUID
    actor: Actor
    outcome: str
    note: str = ""
    input: str = ""  # the text with the outcome, or its digest
    run_id: str = ""
    target: str = "tool"  # the matching rules that name the tool; "all" or "rule" otherwise
    include_shadow: bool = False  # whether matching shadow rules count as well as active ones


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackResult:
    """The recorded feedback; `link` is the source of its decision."""

    feedback: RuleFeedback
    commit: Commit
    decision: RuleDecision | None = None
    link: str = ""
    fresh: bool = True


def rate_decision(
    verdict: ReportedOutcome, question: SelectionRequest, selected: str, decision_id: UUID | None
) -> FeedbackResult:
    """Record feedback on the selection of a tool. Idempotent."""
    decision, link = _get_or_create_decision(verdict, question, selected, decision_id)
    _lock_decision(decision)
    rows = RuleFeedback.objects.of(verdict.account_id).filter(decision=decision)
    tool = selected if verdict.target == "tool" else None
    rules = _matched_rules(decision, tool, include_shadow=verdict.include_shadow)
    new_feedback = _build_feedback(verdict, rules)
    new_feedback.decision = decision
    result = _record_once(verdict, new_feedback, rows.filter(outcome=verdict.outcome))
    return replace(result, decision=decision, link=link)


def rate_rule(verdict: ReportedOutcome, rule_id: UUID) -> FeedbackResult:
    """Record feedback on a rule, once for each occasion, outcome and actor.

    The run or the input identifies the occasion; without either, each request is a new one.
    """
    rule = get_rule(verdict.account_id, rule_id)
    new_feedback = _build_feedback(verdict, [rule.pk])
    ids = [new_feedback.pk]
    if occasion := verdict.run_id or verdict.input:
        key_parts = ["rule", str(rule.pk), str(verdict.actor), verdict.outcome, occasion]
        ids = _derive_ids(verdict.account_id, key_parts)
        new_feedback.pk = ids[0]
    existing_rows = RuleFeedback.objects.of(verdict.account_id).filter(pk__in=ids)
    return _record_once(verdict, new_feedback, existing_rows)


def _record_once(
    verdict: ReportedOutcome,
    new_feedback: RuleFeedback,
    existing_rows: "AccountQuerySet[RuleFeedback]",
) -> FeedbackResult:
    """Record and count the feedback, unless an earlier or a concurrent request did."""
    duplicate = existing_rows.first()
    fresh = duplicate is None
    if duplicate is None:
        stored_input = _redact_input(verdict) or None
        with recording(verdict.account_id, verdict.actor, input=stored_input) as commit:
            new_feedback.commit_id = commit.id
            RuleFeedback.objects.bulk_create([new_feedback], ignore_conflicts=True)
            duplicate = existing_rows.get()
            fresh = duplicate.commit_id == commit.id
            if fresh:
                commit.add(new_feedback, "ADD")
                _increment_counts(verdict.account_id, new_feedback.rule_ids, verdict.outcome)
    commits = Commit.objects.of(verdict.account_id)
    return FeedbackResult(
        feedback=duplicate, commit=commits.get(pk=duplicate.commit_id), fresh=fresh
    )


def _redact_input(verdict: ReportedOutcome) -> str:
    """Return the text with the outcome as the ledger stores it. A digest stays unchanged."""
    if not verdict.input or DIGEST.fullmatch(verdict.input):
        return verdict.input
    return redact_text(verdict.input, Account.objects.get(pk=verdict.account_id).redact)


def _build_feedback(verdict: ReportedOutcome, rules: Sequence[UUID]) -> RuleFeedback:
    account = Account.objects.get(pk=verdict.account_id)
    return RuleFeedback(
        id=uuid7(),
        account_id=verdict.account_id,
        run_id=verdict.run_id,
        outcome=verdict.outcome,
        rule_ids=list(rules),
        target=verdict.target,
        note=redact_text(verdict.note, account.redact),
        created_by=str(verdict.actor),
        created_at=timezone.now(),
    )


def _get_or_create_decision(
    verdict: ReportedOutcome, question: SelectionRequest, selected: str, decision_id: UUID | None
) -> tuple[RuleDecision, str]:
    """Return the decision by id or run, or record one for the feedback."""
    rows = RuleDecision.objects.of(verdict.account_id).filter(scope=question.viewer.scope)
    if decision_id:
        decision = rows.filter(pk=decision_id).first()
        if decision is None:
            raise _missing_decision_error()
        _check_selected_tool(decision, selected)
        return decision, "provided"
    if verdict.run_id:
        same_run = rows.filter(run_id=verdict.run_id, selected_tool=selected)
        if latest := same_run.order_by("-created_at", "-pk").first():
            return latest, "inferred"
    # The id is derived from these, so that repetitions count once.
    key_parts = [asdict(question.viewer), verdict.run_id, question.context]
    key_parts += [list(question.candidates), selected]
    ids = _derive_ids(verdict.account_id, key_parts)
    existing = rows.filter(pk__in=ids).first()
    decision = existing or _create_decision(verdict, question, selected, ids[0])
    return decision, "created_from_feedback"


def _derive_ids(account_id: UUID, key_parts: Sequence[Any]) -> list[UUID]:
    """Return the id derived with each secret, the current one first.

    The digests are keyed, so that an id does not reveal redacted text.
    """
    digests = keyed_digests("rules.feedback", encode_canonical(key_parts))
    return [uuid5(account_id, digest) for digest in digests]


def _create_decision(
    verdict: ReportedOutcome, question: SelectionRequest, selected: str, pk: UUID
) -> RuleDecision:
    account_id = verdict.account_id
    try:
        with transaction.atomic():
            recorded = record_selection(
                account_id,
                verdict.actor,
                question,
                used_tool=selected,
                id=pk,
                run_id=verdict.run_id,
                origin=RuleDecision.Origin.FEEDBACK,
            )
            return recorded.decision
    except IntegrityError:  # a concurrent request with the same feedback created it first
        return RuleDecision.objects.of(account_id).get(pk=pk)


def _lock_decision(decision: RuleDecision) -> None:
    """Lock a decision, so that it is not erased before its feedback is stored."""
    rows = RuleDecision.objects.of(decision.account_id).select_for_update(no_key=True)
    if rows.filter(pk=decision.pk).first() is None:
        raise _missing_decision_error()


def _missing_decision_error() -> NotFound:
    return NotFound("Decision not found.", code="decision_not_found_in_scope")


def _check_selected_tool(decision: RuleDecision, selected: str) -> None:
    if decision.selected_tool != selected:
        raise Invalid(
            f"This decision selected {decision.selected_tool or 'nothing'}, not {selected}.",
            code="decision_selected_tool_mismatch",
            details={"decision": decision.selected_tool, "feedback": selected},
        )


def _matched_rules(decision: RuleDecision, tool: str | None, *, include_shadow: bool) -> list[UUID]:
    """Return the matched rules that still exist, or those of them that name the tool."""
    ids = list(decision.source_rule_ids)
    if include_shadow:
        observations = RuleObservation.objects.of(decision.account_id).filter(decision=decision)
        ids += observations.filter(matched=True).values_list("rule_id", flat=True)
    rules = Rule.objects.of(decision.account_id).filter(pk__in=ids)
    return sorted(rule.pk for rule in rules if tool is None or tool in _list_tools(rule))


def _list_tools(rule: Rule) -> set[str]:
    lists = rule.then.get("tool", {}) if isinstance(rule.then, dict) else {}
    return {name for names in lists.values() if isinstance(names, list) for name in names}


def _increment_counts(account_id: UUID, rules: Iterable[UUID], outcome: str) -> None:
    """Increment the count of each rule.

    Rows are locked in the order of their rule ids, so that concurrent calls cannot deadlock.
    """
    column = OUTCOME_COLUMNS[Outcome(outcome)]
    ids = sorted(rules)
    RuleStatistics.objects.bulk_create(
        [RuleStatistics(account_id=account_id, rule_id=rule) for rule in ids], ignore_conflicts=True
    )
    rows = RuleStatistics.objects.of(account_id).filter(rule_id__in=ids)
    locked = rows.order_by("rule_id").select_for_update(no_key=True).values_list("pk", flat=True)
    values = {column: F(column) + 1, "updated_at": timezone.now()}
    rows.filter(pk__in=list(locked)).update(**values)


def recount_feedback(account_id: UUID) -> int:
    """Count all feedback again. Return the number of rules with wrong counts."""
    statistics = RuleStatistics.objects.of(account_id)
    # Lock the rows, so that concurrent feedback waits for the end of this transaction.
    locked_statistics = list(statistics.select_for_update().order_by("rule_id"))
    counts = defaultdict[UUID, dict[str, int]](lambda: dict.fromkeys(OUTCOME_COLUMNS.values(), 0))
    rows = RuleFeedback.objects.of(account_id).values_list("outcome", "rule_ids")
    for outcome, rules in rows.iterator():
        for rule in rules:
            counts[rule][OUTCOME_COLUMNS[Outcome(outcome)]] += 1
    wrong = 0
    for row in locked_statistics:
        correct = counts[row.rule_id]
        del counts[row.rule_id]
        differing = statistics.filter(pk=row.pk).exclude(**correct)
        wrong += differing.update(**correct, updated_at=timezone.now())
    missing = [RuleStatistics(account_id=account_id, rule_id=k, **v) for k, v in counts.items()]
    # Feedback that was stored meanwhile may have created the statistics of its rule.
    return wrong + len(RuleStatistics.objects.bulk_create(missing, ignore_conflicts=True))
