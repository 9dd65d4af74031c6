"""Serialization of evaluations for the API, as plain dicts for speed."""

from collections.abc import Mapping, Sequence
from typing import Any, cast
from uuid import UUID

from kmapp.api.object_uris import object_uri
from kmapp.api.typed_dict_schemas import serialize_as
from rules.actions.decisions import Evaluation
from rules.actions.rules import build_draft
from rules.api.response_types import (
    Applied,
    ConflictExplained,
    ConflictShown,
    EvaluateAnswer,
    MatchedRule,
    RankShown,
    RuleShown,
    SourceShown,
    ToolConflict,
    ToolExplained,
    Visibility,
)
from rules.evaluation.matching import CompiledRule
from rules.evaluation.policy import Policy, PolicyConflict, Rank
from rules.models import Rule


def serialize_rule(rule: Rule) -> RuleShown:
    return serialize_as(
        RuleShown,
        rule,
        uri=object_uri(rule.pk, "rule", rule.account_id, rule.scope),
        if_json=rule.when,
        then_json=rule.then,
        exceptions_json=rule.exceptions,
        issues=build_draft(rule).list_issues(),
    )


def serialize_rank(rank: Rank) -> RankShown:
    return serialize_as(RankShown, rank, evidence_score=rank.evidence)


class EvaluationSerializer:
    """Serialization of one answer with at most `limit` rules. Ranks are computed once."""

    def __init__(self, account_id: UUID, evaluation: Evaluation, limit: int) -> None:
        self.account_id, self.evaluation, self.limit = account_id, evaluation, limit
        both = (*evaluation.matched.live, *evaluation.matched.shadow)
        self.by_id = {one.rule.id: one for one in both}
        self.effects = {one.rule.id: one.rank_effect(*self._feedback_counts(one)) for one in both}

    def _feedback_counts(self, one: CompiledRule) -> tuple[int, int]:
        return self.evaluation.feedback_counts.get(one.rule.id, (0, 0))

    def serialize_evaluation(self, *, include_shadow: bool) -> EvaluateAnswer:
        viewer, matched = self.evaluation.question.viewer, self.evaluation.matched
        shadow = matched.shadow if include_shadow else ()
        return {
            "tenant_id": self.account_id,
            "scope": viewer.scope or "default",
            "considered": matched.considered,
            "matched": len(matched.live) + len(shadow),
            "skipped_invalid_then": 0,
            "invalid_then_sample": [],
            "active": self.serialize_rules(matched.live),
            "shadow": self.serialize_rules(shadow),
            "agent_visibility_summary": serialize_as(Visibility, viewer),
            "applied": self.serialize_applied(include_shadow=include_shadow),
            "evaluation_summary": {
                "considered": matched.considered,
                "matched_active": len(matched.live),
                "matched_shadow": len(shadow),
                "conflicts": len(self.evaluation.policy.conflicts),
            },
        }

    def serialize_rules(self, rules: Sequence[CompiledRule]) -> list[MatchedRule]:
        """Return the rules with the highest rank."""
        best = sorted(rules, key=lambda one: self.effects[one.rule.id].sort_key(), reverse=True)
        return [self._serialize_rule(one) for one in best[: self.limit]]

    def _serialize_rule(self, one: CompiledRule) -> MatchedRule:
        rule, (positive, negative) = one.rule, self._feedback_counts(one)
        return {
            "rule_node_id": UUID(rule.id),
            "state": _state(one),
            "rule_scope": rule.audience,
            "summary": rule.name,
            "if_json": dict(rule.when),
            "then_json": dict(rule.then),
            "exceptions_json": list(rule.exceptions),
            "stats": {"positive": positive, "negative": negative},
            "rank": serialize_rank(self.effects[rule.id].rank),
            "match_detail": {"condition_paths": list(one.condition.paths)},
            "commit_id": rule.commit_id,
        }

    def serialize_applied(self, *, include_shadow: bool) -> Applied:
        applied = self._serialize_policy(self.evaluation.policy)
        if include_shadow and self.evaluation.matched.shadow:
            shadow = self._serialize_policy(self.evaluation.shadow_policy)
            applied |= {f"shadow_{name}": value for name, value in shadow.items()}
        return cast("Applied", applied)

    def _serialize_policy(self, policy: Policy) -> dict[str, Any]:
        return {
            "policy": policy.body(),
            "sources": self._serialize_sources(policy),
            "conflicts": _serialize_conflicts(policy.conflicts),
            "conflict_explain": _explain_conflicts(policy.conflicts),
            "tool_explain": self._explain_tools(policy),
        }

    def _serialize_sources(self, policy: Policy) -> list[SourceShown]:
        return [
            {
                "rule_node_id": UUID(rule),
                "state": _state(self.by_id[rule]),
                "commit_id": self.by_id[rule].rule.commit_id,
                "touched_paths": list(paths),
                "rank": serialize_rank(self.effects[rule].rank),
            }
            for rule, paths in reversed(policy.paths_by_rule.items())
        ]

    def _explain_tools(self, policy: Policy) -> ToolExplained:
        notes = (
            (policy.allow is not None, "Only tools that every allow-list names are left."),
            (policy.deny, "A tool that any rule denies is denied."),
            (policy.prefer, "Preferred tools come first, ordered by the rank of their rule."),
        )
        return {
            "notes": [note for applies, note in notes if applies],
            "contributions": [
                {
                    "rule_node_id": UUID(rule),
                    "allow": tools.get("allow"),
                    "deny": tools.get("deny", []),
                    "prefer": tools.get("prefer", []),
                }
                for rule in reversed(policy.paths_by_rule)
                if (tools := _tool_lists(self.by_id[rule].rule.then))
            ],
            "winners": {
                "prefer_by_tool": {t: UUID(ids[0]) for t, ids in policy.preferrers.items()},
                "deny_by_tool": {t: UUID(ids[0]) for t, ids in policy.deniers.items()},
            },
            "conflicts": serialize_tool_conflicts(policy.conflicts),
        }


def _state(one: CompiledRule) -> str:
    return Rule.State.ACTIVE.value if one.rule.live else Rule.State.SHADOW.value


def _tool_lists(then: Mapping[str, Any]) -> dict[str, Any]:
    tools = then.get("tool")
    return dict(tools) if isinstance(tools, Mapping) else {}


def _serialize_conflicts(conflicts: Sequence[PolicyConflict]) -> list[ConflictShown]:
    return [{"path": one.path, "winner_rule_node_id": UUID(one.winner)} for one in conflicts]


def _explain_conflicts(conflicts: Sequence[PolicyConflict]) -> list[ConflictExplained]:
    return [
        {
            "path": one.path,
            "winner": UUID(one.winner),
            "losers": [UUID(loser) for loser in one.losers],
            "reason": one.reason,
        }
        for one in conflicts
    ]


def serialize_tool_conflicts(conflicts: Sequence[PolicyConflict]) -> list[ToolConflict]:
    return [
        {
            "code": one.code,
            "message": f"{one.path}: {one.reason}",
            "details": {"path": one.path, "losers": list(one.losers)},
            "winner_rule_node_id": UUID(one.winner),
        }
        for one in conflicts
        if one.path.startswith("tool.")
    ]
