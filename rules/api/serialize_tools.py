"""Serialization of selections, decisions and runs."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from rules.actions.decisions import Decided
from rules.actions.feedback import Counted
from rules.api.serialize import Shower, tool_conflicts, uri
from rules.api.tool_response_types import (
    DecisionLink,
    DecisionMetadata,
    DecisionShown,
    Denied,
    FeedbackAnswer,
    FeedbackShown,
    SelectAnswer,
    SelectedBy,
    SelectionShown,
)
from rules.evaluation.evaluate import Selection, select
from rules.models import RuleDecision, RuleFeedback, RuleObservation

MODES = {
    "none": "policy",
    "allowlist_filtered_all": "deny_only",
    "deny_filtered_all": "policy",
}
NOTE = "No candidate is on every allow-list, so only the deny-lists were applied."


def select_output(decided: Decided, *, include_shadow: bool, limit: int) -> SelectAnswer:
    answer, decision = decided.answer, decided.decision
    shower = Shower(decision.account_id, answer, limit)
    rules: SelectedBy = {
        "considered": answer.matched.considered,
        "matched": len(answer.matched.live),
        "active": shower.rules(answer.matched.live),
        "shadow": shower.rules(answer.matched.watching) if include_shadow else [],
        "applied": shower.applied(include_shadow=include_shadow),
        "tool_conflicts_summary": tool_conflicts(answer.policy.clashes),
    }
    if include_shadow:
        question = answer.question
        shadow = select(answer.with_shadow, question.candidates, strict=question.strict)
        rules["shadow_selection"] = selection_output(shadow)
    selection = selection_output(decided.selection)
    return {
        "tenant_id": decision.account_id,
        "scope": decision.scope or "default",
        "candidates": selection["candidates"],
        "selection": selection,
        "rules": rules,
        "decision": link_output(decision),
        "selection_summary": {
            "selected": selection["selected"],
            "allowed": len(selection["allowed"]),
            "denied": len(selection["denied"]),
            "fallback": selection["fallback"]["reason"],
        },
        "execution_kernel": {},
    }


def selection_output(selection: Selection) -> SelectionShown:
    applied, reason = selection.fallback_applied, selection.fallback_reason
    return {
        "candidates": list(selection.candidates),
        "allowed": list(selection.allowed),
        "denied": _denied(dict(selection.denied)),
        "preferred": list(selection.preferred),
        "ordered": list(selection.ordered),
        "selected": selection.selected,
        "fallback": {
            "applied": applied,
            "reason": reason,
            "note": NOTE if applied else None,
            "effective_mode": MODES[reason] if applied else "policy",
        },
    }


def _denied(denied: Mapping[str, str]) -> list[Denied]:
    return [{"name": name, "reason": reason} for name, reason in denied.items()]


def decision_uri(decision: RuleDecision) -> str:
    return uri(decision.pk, "decision", decision.account_id, decision.scope)


def link_output(decision: RuleDecision) -> DecisionLink:
    return {
        "decision_id": decision.pk,
        "decision_uri": decision_uri(decision),
        "run_id": decision.run_id or None,
        "selected_tool": decision.selected_tool or None,
        "policy_sha256": decision.policy_sha256,
        "source_rule_ids": list(decision.source_rule_ids),
        "created_at": decision.created_at,
    }


def decision_output(
    decision: RuleDecision, observations: Sequence[RuleObservation] | None = None
) -> DecisionShown:
    """With its observations, where they were asked for."""
    metadata: DecisionMetadata = {
        "policy": decision.policy,
        "denied": _denied(decision.denied),
        "ordered": list(decision.ordered),
        "strict": decision.strict,
        "fallback": decision.fallback or None,
        "considered": decision.considered,
        "conflicts": decision.conflicts,
    }
    if observations is not None:
        metadata["shadow"] = [
            {
                "rule_node_id": seen.rule_id,
                "matched": seen.matched,
                "changed": seen.changed,
                "after": seen.after,
            }
            for seen in observations
        ]
    return {
        **link_output(decision),
        "decision_kind": "tools_select",
        "candidates": list(decision.candidates),
        "context_sha256": decision.context_sha256,
        "metadata": metadata,
        "commit_id": None,
        "commit_uri": None,
    }


def feedback_output(feedback: RuleFeedback) -> FeedbackShown:
    rules: list[UUID] = list(feedback.rule_ids)
    return {
        "id": feedback.pk,
        "rule_node_id": rules[0] if rules else None,
        "rule_node_ids": rules,
        "outcome": feedback.outcome,
        "note": feedback.note or None,
        "source": "tools_feedback" if feedback.decision_id else "rule_feedback",
        "decision_id": feedback.decision_id,
        "commit_id": feedback.commit_id,
        "created_at": feedback.created_at,
    }


def counted_output(counted: Counted, scope: str) -> FeedbackAnswer:
    decision, commit = counted.decision, counted.commit
    return {
        "ok": True,
        "tenant_id": commit.account_id,
        "scope": scope or "default",
        "updated_rules": len(counted.feedback.rule_ids) if counted.fresh else 0,
        "rule_node_ids": list(counted.feedback.rule_ids),
        "commit_id": commit.pk,
        "commit_uri": uri(commit.pk, "commit", commit.account_id, scope),
        "commit_hash": commit.commit_hash,
        "decision_id": decision.pk if decision else None,
        "decision_uri": decision_uri(decision) if decision else None,
        "decision_link_mode": counted.link or None,
        "decision_policy_sha256": decision.policy_sha256 if decision else None,
    }
