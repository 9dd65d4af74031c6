"""Serialization of selections, decisions and feedback."""

from collections.abc import Mapping, Sequence

from kmapp.api.object_uris import object_uri
from kmapp.api.typed_dict_schemas import serialize_as
from rules.actions.decisions import RecordedSelection
from rules.actions.feedback import FeedbackResult
from rules.api.decision_response_types import (
    DecisionLink,
    DecisionMetadata,
    DecisionShown,
    Denied,
    FeedbackAnswer,
    FeedbackShown,
    SelectAnswer,
    SelectedBy,
    SelectionShown,
    WatcherShown,
)
from rules.api.serialize_evaluations import EvaluationSerializer, serialize_tool_conflicts
from rules.evaluation.tool_selection import Selection, select_tool
from rules.models import RuleDecision, RuleFeedback, RuleObservation

MODES = {"none": "policy", "allowlist_filtered_all": "deny_only", "deny_filtered_all": "policy"}
NOTE = "No candidate is on every allow-list, so only the deny-lists were applied."


def serialize_recorded_selection(
    recorded: RecordedSelection, *, include_shadow: bool, limit: int
) -> SelectAnswer:
    evaluation, decision = recorded.evaluation, recorded.decision
    serializer = EvaluationSerializer(decision.account_id, evaluation, limit)
    rules: SelectedBy = {
        "considered": evaluation.matched.considered,
        "matched": len(evaluation.matched.live),
        "active": serializer.serialize_rules(evaluation.matched.live),
        "shadow": serializer.serialize_rules(evaluation.matched.shadow) if include_shadow else [],
        "applied": serializer.serialize_applied(include_shadow=include_shadow),
        "tool_conflicts_summary": serialize_tool_conflicts(evaluation.policy.conflicts),
    }
    if include_shadow:
        question = evaluation.question
        shadow = select_tool(evaluation.shadow_policy, question.candidates, strict=question.strict)
        rules["shadow_selection"] = _serialize_selection(shadow)
    selection = _serialize_selection(recorded.selection)
    return {
        "tenant_id": decision.account_id,
        "scope": decision.scope or "default",
        "candidates": selection["candidates"],
        "selection": selection,
        "rules": rules,
        "decision": serialize_as(
            DecisionLink, decision, decision_id=decision.pk, decision_uri=_decision_uri(decision)
        ),
        "selection_summary": {
            "selected": selection["selected"],
            "allowed": len(selection["allowed"]),
            "denied": len(selection["denied"]),
            "fallback": selection["fallback"]["reason"],
        },
        "execution_kernel": {},
    }


def _serialize_selection(selection: Selection) -> SelectionShown:
    applied, reason = selection.fallback_applied, selection.fallback_reason
    fallback = {
        "applied": applied,
        "reason": reason,
        "note": NOTE if applied else None,
        "effective_mode": MODES[reason] if applied else "policy",
    }
    denied = _serialize_denied(dict(selection.denied))
    return serialize_as(SelectionShown, selection, denied=denied, fallback=fallback)


def _serialize_denied(denied: Mapping[str, str]) -> list[Denied]:
    return [{"name": name, "reason": reason} for name, reason in denied.items()]


def _decision_uri(decision: RuleDecision) -> str:
    return object_uri(decision.pk, "decision", decision.account_id, decision.scope)


def serialize_decision(
    decision: RuleDecision, observations: Sequence[RuleObservation] | None = None
) -> DecisionShown:
    """Serialize a decision, with observations if they are given."""
    metadata = serialize_as(DecisionMetadata, decision, denied=_serialize_denied(decision.denied))
    if observations is not None:
        metadata["shadow"] = [
            serialize_as(WatcherShown, observation, rule_node_id=observation.rule_id)
            for observation in observations
        ]
    return serialize_as(
        DecisionShown,
        decision,
        decision_id=decision.pk,
        decision_uri=_decision_uri(decision),
        decision_kind="tools_select",
        metadata=metadata,
        commit_id=None,
        commit_uri=None,
    )


def serialize_feedback(feedback: RuleFeedback) -> FeedbackShown:
    return serialize_as(
        FeedbackShown,
        feedback,
        rule_node_id=next(iter(feedback.rule_ids), None),
        rule_node_ids=feedback.rule_ids,
        source="tools_feedback" if feedback.decision_id else "rule_feedback",
    )


def serialize_feedback_result(result: FeedbackResult, scope: str) -> FeedbackAnswer:
    decision, commit = result.decision, result.commit
    return {
        "ok": True,
        "tenant_id": commit.account_id,
        "scope": scope or "default",
        "updated_rules": len(result.feedback.rule_ids) if result.fresh else 0,
        "rule_node_ids": list(result.feedback.rule_ids),
        "commit_id": commit.pk,
        "commit_uri": object_uri(commit.pk, "commit", commit.account_id, scope),
        "commit_hash": commit.commit_hash,
        "decision_id": decision.pk if decision else None,
        "decision_uri": _decision_uri(decision) if decision else None,
        "decision_link_mode": result.link or None,
        "decision_policy_sha256": decision.policy_sha256 if decision else None,
    }
