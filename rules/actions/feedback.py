"""Feedback on decisions, counted once per outcome, and on rules."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from uuid import UUID, uuid5

from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils import timezone

from kmapp.accounts.actors import Actor
from kmapp.accounts.models import Account, AccountQuerySet
from kmapp.accounts.redacted_text import redact_text
from kmapp.database.ids import uuid7
from kmapp.errors import Invalid, NotFound
from kmapp.ledger.actions import recording
from kmapp.ledger.canonical import canonical
from kmapp.ledger.models import Commit
from rules.actions.decisions import Chosen, decide
from rules.actions.versions import get_rule
from rules.evaluation.evaluate import Question
from rules.models import Rule, RuleDecision, RuleFeedback, RuleStatistics

Outcome = RuleFeedback.Outcome
COUNTED = {
    Outcome.POSITIVE: "positive",
    Outcome.NEUTRAL: "neutral",
    Outcome.NEGATIVE: "negative",
    Outcome.VERY_NEGATIVE: "negative",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What somebody says of how it went."""

    account_id: UUID
    actor: Actor
    outcome: str
    note: str = ""
    input: str = ""  # what was said when it was given, or its digest
    run_id: str = ""
    target: str = "tool"  # the rules that spoke of the tool, all that applied, or one rule


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """The feedback as it is on record; `link` says how its decision was found."""

    feedback: RuleFeedback
    commit: Commit
    decision: RuleDecision | None = None
    link: str = ""
    fresh: bool = True


def rate_decision(
    verdict: Verdict, question: Question, selected: str, decision_id: UUID | None
) -> Counted:
    """Feedback on the selection of a tool. Sent again, it changes nothing."""
    decision, link = _decision(verdict, question, selected, decision_id)
    rows = RuleFeedback.objects.of(verdict.account_id).filter(decision=decision)
    existing_rows = rows.filter(outcome=verdict.outcome)
    rules = _touching(decision, selected) if verdict.target == "tool" else _sources(decision)
    new_feedback = _feedback(verdict, rules)
    new_feedback.decision = decision
    return replace(_once(verdict, new_feedback, existing_rows), decision=decision, link=link)


def rate_rule(verdict: Verdict, rule_id: UUID) -> Counted:
    """Feedback on a rule as such. Of one occasion it counts once for each outcome and who says it.

    The run, or what was said, tells occasions apart; without either, each time is another one.
    """
    rule = get_rule(verdict.account_id, rule_id)
    new_feedback = _feedback(verdict, [rule.pk])
    if occasion := verdict.run_id or verdict.input:
        key_parts = ["rule", str(rule.pk), str(verdict.actor), verdict.outcome, occasion]
        new_feedback.pk = uuid5(verdict.account_id, canonical(key_parts).decode())
    existing_rows = RuleFeedback.objects.of(verdict.account_id).filter(pk=new_feedback.pk)
    return _once(verdict, new_feedback, existing_rows)


def _once(
    verdict: Verdict, new_feedback: RuleFeedback, existing_rows: "AccountQuerySet[RuleFeedback]"
) -> Counted:
    """Record and count it, unless it has been `told` already, perhaps at this moment."""
    duplicate = existing_rows.first()
    fresh = duplicate is None
    if duplicate is None:
        with recording(verdict.account_id, verdict.actor, input=verdict.input or None) as commit:
            new_feedback.commit_id = commit.id
            RuleFeedback.objects.bulk_create([new_feedback], ignore_conflicts=True)
            duplicate = existing_rows.get()
            fresh = duplicate.commit_id == commit.id
            if fresh:
                commit.add(new_feedback, "ADD")
                _count(verdict.account_id, new_feedback.rule_ids, verdict.outcome)
    commits = Commit.objects.of(verdict.account_id)
    return Counted(feedback=duplicate, commit=commits.get(pk=duplicate.commit_id), fresh=fresh)


def _feedback(verdict: Verdict, rules: Sequence[UUID]) -> RuleFeedback:
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


def _decision(
    verdict: Verdict, question: Question, selected: str, decision_id: UUID | None
) -> tuple[RuleDecision, str]:
    """Return the decision by id or run, or record one for the feedback."""
    rows = RuleDecision.objects.of(verdict.account_id).filter(scope=question.viewer.scope)
    if decision_id:
        named = rows.filter(pk=decision_id).first()
        if named is None:
            raise NotFound("Decision not found.", code="decision_not_found_in_scope")
        _refuse_other_tool(named, selected)
        return named, "provided"
    if verdict.run_id:
        of_run = rows.filter(run_id=verdict.run_id, selected_tool=selected)
        if latest := of_run.order_by("-created_at", "-pk").first():
            return latest, "inferred"
    chosen = Chosen(id=_derived_decision_id(verdict, question, selected), tool=selected)
    derived_decision = rows.filter(pk=chosen.id).first() or _derive_decision(
        verdict, question, chosen
    )
    return derived_decision, "created_from_feedback"


def _derive_decision(verdict: Verdict, question: Question, chosen: Chosen) -> RuleDecision:
    account_id = verdict.account_id
    try:
        with transaction.atomic():
            new_feedback = decide(
                account_id, verdict.actor, question, run_id=verdict.run_id, chosen=chosen
            )
            return new_feedback.decision
    except IntegrityError:  # the same feedback was sent twice at once, and the other was first
        return RuleDecision.objects.of(account_id).get(pk=chosen.id)


def _derived_decision_id(verdict: Verdict, question: Question, selected: str) -> UUID:
    """Return the id derived from run, context and tool, so that repeats count once."""
    key_parts = [
        question.viewer.scope,
        verdict.run_id,
        question.context,
        list(question.candidates),
        selected,
    ]
    return uuid5(verdict.account_id, canonical(key_parts).decode())


def _refuse_other_tool(decision: RuleDecision, selected: str) -> None:
    if decision.selected_tool != selected:
        raise Invalid(
            f"This decision selected {decision.selected_tool or 'nothing'}, not {selected}.",
            code="decision_selected_tool_mismatch",
            details={"decision": decision.selected_tool, "feedback": selected},
        )


def _sources(decision: RuleDecision) -> list[UUID]:
    """Return the applied rules that still exist."""
    rules = Rule.objects.of(decision.account_id).filter(pk__in=decision.source_rule_ids)
    return sorted(rules.values_list("pk", flat=True))


def _touching(decision: RuleDecision, selected: str) -> list[UUID]:
    """Those of them that speak of the tool."""
    rules = Rule.objects.of(decision.account_id).filter(pk__in=decision.source_rule_ids)
    return sorted(rule.pk for rule in rules if selected in _named_tools(rule))


def _named_tools(rule: Rule) -> set[str]:
    lists = rule.then.get("tool", {}) if isinstance(rule.then, dict) else {}
    return {name for names in lists.values() if isinstance(names, list) for name in names}


def _count(account_id: UUID, rules: Iterable[UUID], outcome: str) -> None:
    """Count for each rule, in the order of their ids: two counts wait instead of deadlocking."""
    column = COUNTED[Outcome(outcome)]
    ids = sorted(rules)
    RuleStatistics.objects.bulk_create(
        [RuleStatistics(account_id=account_id, rule_id=rule) for rule in ids],
        ignore_conflicts=True,
    )
    rows = RuleStatistics.objects.of(account_id).filter(rule_id__in=ids)
    held = rows.order_by("rule_id").select_for_update(no_key=True).values_list("pk", flat=True)
    rows.filter(pk__in=list(held)).update(**{column: F(column) + 1})


def recount(account_id: UUID) -> int:
    """Count all feedback again. Returns how many rules had been counted wrong."""
    statistics = RuleStatistics.objects.of(account_id)
    locked_statistics = list(
        statistics.select_for_update().order_by("rule_id")
    )  # feedback waits from here on
    outcome_counts: dict[UUID, dict[str, int]] = {}
    rows = RuleFeedback.objects.of(account_id).values_list("outcome", "rule_ids")
    for outcome, rules in rows.iterator():
        for rule in rules:
            of_rule = outcome_counts.setdefault(rule, {"positive": 0, "neutral": 0, "negative": 0})
            of_rule[COUNTED[Outcome(outcome)]] += 1
    wrong = 0
    for row in locked_statistics:
        right = outcome_counts.pop(row.rule_id, {"positive": 0, "neutral": 0, "negative": 0})
        wrong += statistics.filter(pk=row.pk).exclude(**right).update(**right)
    missing = [
        RuleStatistics(account_id=account_id, rule_id=k, **v) for k, v in outcome_counts.items()
    ]
    return wrong + len(RuleStatistics.objects.bulk_create(missing))
