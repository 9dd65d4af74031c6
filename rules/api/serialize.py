"""Serialization of evaluations for the API, as plain dicts for speed."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from rules.actions.decisions import Answer
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
)
from rules.editing.rule_input import issues_of
from rules.evaluation.matching import Compiled
from rules.evaluation.policy import Clash, Policy, Rank
from rules.models import Rule

SCHEME = "aionis"


def uri(object_id: UUID, kind: str, account_id: UUID, scope: str = "") -> str:
    return f"{SCHEME}://{account_id}/{scope or 'default'}/{kind}/{object_id}"


def rule_output(rule: Rule) -> RuleShown:
    return {
        "id": rule.pk,
        "uri": uri(rule.pk, "rule", rule.account_id, rule.scope),
        "client_id": rule.client_id,
        "scope": rule.scope,
        "name": rule.name,
        "summary": rule.summary,
        "if_json": rule.when,
        "then_json": rule.then,
        "exceptions_json": rule.exceptions,
        "priority": rule.priority,
        "weight": rule.weight,
        "audience": rule.audience,
        "audience_id": rule.audience_id or None,
        "state": rule.state,
        "lineage": rule.lineage,
        "edition": rule.edition,
        "version": rule.version,
        "issues": issues_of({"if": rule.when, "then": rule.then, "exceptions": rule.exceptions}),
        "shadowed_at": rule.shadowed_at,
        "activated_at": rule.activated_at,
        "created_at": rule.created_at,
        "updated_at": rule.updated_at,
        "commit_id": rule.commit_id,
    }


def rank_output(rank: Rank) -> RankShown:
    return {
        "score": rank.score,
        "evidence_score": rank.evidence,
        "priority": rank.priority,
        "weight": rank.weight,
        "specificity": rank.specificity,
    }


class Shower:
    """Shows one answer: the ranks are worked out once."""

    def __init__(self, account_id: UUID, answer: Answer, limit: int) -> None:
        self.account_id, self.answer, self.limit = account_id, answer, limit
        both = (*answer.matched.live, *answer.matched.watching)
        self.by_id = {one.rule.id: one for one in both}
        self.voices = {one.rule.id: one.voice(*self._feedback_counts(one)) for one in both}

    def _feedback_counts(self, one: Compiled) -> tuple[int, int]:
        return self.answer.counts.get(one.rule.id, (0, 0))

    def evaluation(self, *, include_shadow: bool) -> EvaluateAnswer:
        answer, viewer = self.answer, self.answer.question.viewer
        matched = answer.matched
        watching = matched.watching if include_shadow else ()
        return {
            "tenant_id": self.account_id,
            "scope": viewer.scope or "default",
            "considered": matched.considered,
            "matched": len(matched.live) + len(watching),
            "skipped_invalid_then": 0,
            "invalid_then_sample": [],
            "active": self.rules(matched.live),
            "shadow": self.rules(watching),
            "agent_visibility_summary": {
                "agent_id": viewer.agent_id or None,
                "user_id": viewer.user_id or None,
                "app_id": viewer.app_id or None,
            },
            "applied": self.applied(include_shadow=include_shadow),
            "evaluation_summary": {
                "considered": matched.considered,
                "matched_active": len(matched.live),
                "matched_shadow": len(watching),
                "conflicts": len(answer.policy.clashes),
            },
        }

    def rules(self, rules: Sequence[Compiled]) -> list[MatchedRule]:
        """Return the best of the rules."""
        best = sorted(rules, key=lambda one: self.voices[one.rule.id].order(), reverse=True)
        return [self._rule(one) for one in best[: self.limit]]

    def _rule(self, one: Compiled) -> MatchedRule:
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
            "rank": rank_output(self.voices[rule.id].rank),
            "match_detail": {"condition_paths": list(one.condition.paths)},
            "commit_id": rule.commit_id,
        }

    def applied(self, *, include_shadow: bool) -> Applied:
        policy = self.answer.policy
        applied_policy: Applied = {
            "policy": policy.body(),
            "sources": self._sources(policy),
            "conflicts": _conflicts(policy.clashes),
            "conflict_explain": _explained(policy.clashes),
            "tool_explain": self._tools(policy),
        }
        if include_shadow and self.answer.matched.watching:
            shadow = self.answer.with_shadow
            applied_policy["shadow_policy"] = shadow.body()
            applied_policy["shadow_sources"] = self._sources(shadow)
            applied_policy["shadow_conflicts"] = _conflicts(shadow.clashes)
            applied_policy["shadow_conflict_explain"] = _explained(shadow.clashes)
            applied_policy["shadow_tool_explain"] = self._tools(shadow)
        return applied_policy

    def _sources(self, policy: Policy) -> list[SourceShown]:
        return [
            {
                "rule_node_id": UUID(rule),
                "state": _state(self.by_id[rule]),
                "commit_id": self.by_id[rule].rule.commit_id,
                "touched_paths": list(paths),
                "rank": rank_output(self.voices[rule].rank),
            }
            for rule, paths in reversed(policy.touched.items())
        ]

    def _tools(self, policy: Policy) -> ToolExplained:
        notes = []
        if policy.allow is not None:
            notes.append("Only tools that every allow-list names are left.")
        if policy.deny:
            notes.append("A tool that any rule denies is denied.")
        if policy.prefer:
            notes.append("Preferred tools come first, ordered by the rank of their rule.")
        return {
            "notes": notes,
            "contributions": [
                {
                    "rule_node_id": UUID(rule),
                    "allow": tools.get("allow"),
                    "deny": tools.get("deny", []),
                    "prefer": tools.get("prefer", []),
                }
                for rule in reversed(policy.touched)
                if (tools := _lists(self.by_id[rule].rule.then))
            ],
            "winners": {
                "prefer_by_tool": {t: UUID(ids[0]) for t, ids in policy.preferrers.items()},
                "deny_by_tool": {t: UUID(ids[0]) for t, ids in policy.deniers.items()},
            },
            "conflicts": tool_conflicts(policy.clashes),
        }


def _state(one: Compiled) -> str:
    return Rule.State.ACTIVE.value if one.rule.live else Rule.State.SHADOW.value


def _lists(then: Mapping[str, Any]) -> dict[str, Any]:
    tools = then.get("tool")
    return dict(tools) if isinstance(tools, Mapping) else {}


def _conflicts(clashes: Sequence[Clash]) -> list[ConflictShown]:
    return [{"path": one.path, "winner_rule_node_id": UUID(one.winner)} for one in clashes]


def _explained(clashes: Sequence[Clash]) -> list[ConflictExplained]:
    return [
        {
            "path": one.path,
            "winner": UUID(one.winner),
            "losers": [UUID(loser) for loser in one.losers],
            "reason": one.reason,
        }
        for one in clashes
    ]


def tool_conflicts(clashes: Sequence[Clash]) -> list[ToolConflict]:
    return [
        {
            "code": one.code,
            "message": f"{one.path}: {one.reason}",
            "details": {"path": one.path, "losers": list(one.losers)},
            "winner_rule_node_id": UUID(one.winner),
        }
        for one in clashes
        if one.path.startswith("tool.")
    ]
