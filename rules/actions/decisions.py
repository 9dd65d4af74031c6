"""Evaluation of rules and recording of decisions."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.utils import timezone

from kmapp.accounts.actors import Actor
from kmapp.accounts.models import Account
from kmapp.database.ids import uuid7
from kmapp.ledger.canonical import canonical
from kmapp.pii import redact_json
from rules.evaluation.compiled_rules import rules_of
from rules.evaluation.evaluate import (
    Observation,
    Question,
    Selection,
    observe_all,
    policy_of,
    select,
)
from rules.evaluation.matching import Compiled, Matched
from rules.evaluation.policy import Policy
from rules.models import RuleDecision, RuleObservation, RuleStatistics

MAX_STORED_CONFLICTS = 50
FeedbackCounts = Mapping[str, tuple[int, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The outcome of the rules for a context."""

    question: Question
    matched: Matched
    counts: FeedbackCounts
    policy: Policy  # of the live rules
    observations: Sequence[Observation] = ()

    @property
    def with_shadow(self) -> Policy:
        """Return the policy with each matching shadow rule in place of its live edition."""
        lineages = {one.rule.lineage for one in self.matched.watching}
        live = [one for one in self.matched.live if one.rule.lineage not in lineages]
        return policy_of([*live, *self.matched.watching], self.counts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    answer: Answer
    selection: Selection
    decision: RuleDecision


def evaluate_rules(account_id: UUID, question: Question, *, observe: bool = False) -> Answer:
    """Evaluate the account's rules. Use inside `acting`."""
    rules = rules_of(account_id)
    matched = rules.match(question.context, question.viewer)
    watched = [*matched.watching, *rules.replacing] if observe else matched.watching
    counts = load_feedback_counts(account_id, [*matched.live, *watched])
    return Answer(
        question=question,
        matched=matched,
        counts=counts,
        policy=policy_of(matched.live, counts),
        observations=observe_all(rules, matched, question, counts) if observe else (),
    )


def load_feedback_counts(account_id: UUID, rules: Iterable[Compiled]) -> FeedbackCounts:
    """Return positive and negative feedback by rule, for rules with feedback."""
    ids = [one.rule.id for one in rules]
    if not ids:
        return {}
    rows = RuleStatistics.objects.of(account_id).filter(rule_id__in=ids)
    return {
        str(rule): (positive, negative)
        for rule, positive, negative in rows.values_list("rule_id", "positive", "negative")
    }


def decide(
    account_id: UUID, actor: Actor, question: Question, *, run_id: str = "", **columns: Any
) -> Decided:
    """Select a tool and record it, with the observation of each shadow rule.

    `columns` replace those of the decision, for a tool that was selected without a request.
    """
    answer = evaluate_rules(account_id, question, observe=True)
    selection = select(answer.policy, question.candidates, strict=question.strict)
    decision = _decision(Account.objects.get(pk=account_id), actor, answer, selection)
    for name, value in {"run_id": run_id, **columns}.items():
        setattr(decision, name, value)
    decision.save(force_insert=True)
    RuleObservation.objects.bulk_create(
        [
            RuleObservation(
                account_id=account_id,
                rule_id=UUID(seen.rule),
                decision_id=decision.pk,
                matched=seen.matched,
                changed=seen.changed,
                after=dict(seen.after) if seen.changed else {},
                created_at=decision.created_at,
            )
            for seen in answer.observations
        ]
    )
    return Decided(answer=answer, selection=selection, decision=decision)


def _decision(account: Account, actor: Actor, answer: Answer, selection: Selection) -> RuleDecision:
    question, policy = answer.question, answer.policy.body()
    viewer = question.viewer
    return RuleDecision(
        id=uuid7(),
        account_id=account.pk,
        scope=viewer.scope,
        user_id=viewer.user_id,
        agent_id=viewer.agent_id,
        app_id=viewer.app_id,
        context=redact_json(question.context, account.redact)[0],
        context_sha256=hashlib.sha256(canonical(question.context)).hexdigest(),
        candidates=list(selection.candidates),
        strict=question.strict,
        considered=answer.matched.considered,
        source_rule_ids=[UUID(one.rule.id) for one in answer.matched.live],
        policy=policy,
        policy_sha256=hashlib.sha256(canonical(policy)).hexdigest(),
        denied=dict(selection.denied),
        ordered=list(selection.ordered),
        selected_tool=selection.selected or "",
        fallback="" if selection.fallback_reason == "none" else selection.fallback_reason,
        conflicts=[clash.body() for clash in answer.policy.clashes[:MAX_STORED_CONFLICTS]],
        watched=sum(seen.matched for seen in answer.observations),
        differs=any(seen.changed for seen in answer.observations),
        created_by=str(actor),
        created_at=timezone.now(),
    )
