"""Evaluation of rules and recording of decisions."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from django.utils import timezone

from kmapp.accounts.actors import Actor
from kmapp.accounts.models import Account
from kmapp.database.ids import uuid7
from kmapp.ledger.canonical import encode_canonical
from kmapp.security.pii import redact_json
from rules.evaluation.matching import CompiledRule, MatchResult
from rules.evaluation.policy import Policy
from rules.evaluation.rule_cache import load_rules
from rules.evaluation.tool_selection import (
    FeedbackCounts,
    Observation,
    Selection,
    SelectionRequest,
    build_policy,
    observe_rules,
    select_tool,
)
from rules.models import RuleDecision, RuleObservation, RuleStatistics

MAX_STORED_CONFLICTS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """The outcome of the rules for a context."""

    question: SelectionRequest
    matched: MatchResult
    feedback_counts: FeedbackCounts
    policy: Policy  # of the live rules
    observations: Sequence[Observation] = ()

    @property
    def shadow_policy(self) -> Policy:
        """Return the policy with each matching shadow rule in place of its live edition."""
        lineages = {one.rule.lineage for one in self.matched.shadow}
        live = [one for one in self.matched.live if one.rule.lineage not in lineages]
        return build_policy([*live, *self.matched.shadow], self.feedback_counts)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedSelection:
    evaluation: Evaluation
    selection: Selection
    decision: RuleDecision


def evaluate_rules(
    account_id: UUID, question: SelectionRequest, *, observe: bool = False, with_shadow: bool = True
) -> Evaluation:
    """Evaluate the account's rules. Use inside `acting`."""
    rules = load_rules(account_id)
    matched = rules.match(question.context, question.viewer, with_shadow=with_shadow)
    shadow = [*matched.shadow, *rules.shadow_editions] if observe else matched.shadow
    counts = load_feedback_counts(account_id, [*matched.live, *shadow])
    return Evaluation(
        question=question,
        matched=matched,
        feedback_counts=counts,
        policy=build_policy(matched.live, counts),
        observations=observe_rules(rules, matched, question, counts) if observe else (),
    )


def load_feedback_counts(account_id: UUID, rules: Iterable[CompiledRule]) -> FeedbackCounts:
    """Return positive and negative feedback by rule, for rules with feedback."""
    ids = [one.rule.id for one in rules]
    if not ids:
        return {}
    rows = RuleStatistics.objects.of(account_id).filter(rule_id__in=ids)
    return {
        str(rule): (positive, negative)
        for rule, positive, negative in rows.values_list("rule_id", "positive", "negative")
    }


def record_selection(
    account_id: UUID,
    actor: Actor,
    question: SelectionRequest,
    *,
    used_tool: str | None = None,
    **columns: Any,
) -> RecordedSelection:
    """Select a tool and record it, with the observation of each shadow rule.

    `used_tool` is the tool that an agent used without requesting a selection. `columns` are values
    for further columns of the decision, such as its run.
    """
    evaluation = evaluate_rules(account_id, question, observe=True)
    if used_tool is not None:
        columns["selected_tool"] = used_tool
        observations = _compare_with_used_tool(evaluation.observations, used_tool)
        evaluation = replace(evaluation, observations=observations)
    selection = select_tool(evaluation.policy, question.candidates, strict=question.strict)
    decision = _build_decision(Account.objects.get(pk=account_id), actor, evaluation, selection)
    for name, value in columns.items():
        setattr(decision, name, value)
    decision.save(force_insert=True)
    RuleObservation.objects.bulk_create(
        [
            RuleObservation(
                account_id=account_id,
                rule_id=UUID(observation.rule),
                decision_id=decision.pk,
                matched=observation.matched,
                changed=observation.changed,
                after=dict(observation.after) if observation.changed else {},
                created_at=decision.created_at,
            )
            for observation in evaluation.observations
        ]
    )
    return RecordedSelection(evaluation=evaluation, selection=selection, decision=decision)


def _compare_with_used_tool(
    observations: Sequence[Observation], used_tool: str
) -> list[Observation]:
    """Return the observations; a rule that leads to the tool that was used changes nothing.

    Otherwise, good feedback on this tool would be evidence against the rule.
    """
    return [
        replace(one, changed=False)
        if one.before["selected"] != one.after["selected"] == used_tool
        else one
        for one in observations
    ]


def _build_decision(
    account: Account, actor: Actor, evaluation: Evaluation, selection: Selection
) -> RuleDecision:
    question, policy = evaluation.question, evaluation.policy.body()
    viewer, context = question.viewer, redact_json(question.context, account.redact)[0]
    return RuleDecision(
        id=uuid7(),
        account_id=account.pk,
        scope=viewer.scope,
        user_id=viewer.user_id,
        agent_id=viewer.agent_id,
        app_id=viewer.app_id,
        context=context,
        # Of the redacted context, because a digest of the original could reveal redacted text.
        context_sha256=hashlib.sha256(encode_canonical(context)).hexdigest(),
        candidates=list(selection.candidates),
        strict=question.strict,
        considered=evaluation.matched.considered,
        source_rule_ids=[UUID(one.rule.id) for one in evaluation.matched.live],
        policy=policy,
        policy_sha256=hashlib.sha256(encode_canonical(policy)).hexdigest(),
        denied=dict(selection.denied),
        ordered=list(selection.ordered),
        selected_tool=selection.selected or "",
        fallback="" if selection.fallback_reason == "none" else selection.fallback_reason,
        conflicts=[
            conflict.body() for conflict in evaluation.policy.conflicts[:MAX_STORED_CONFLICTS]
        ],
        watched=sum(observation.matched for observation in evaluation.observations),
        differs=any(observation.changed for observation in evaluation.observations),
        created_by=str(actor),
        created_at=timezone.now(),
    )
