"""Response types of rules."""

from datetime import datetime
from typing import Any, NotRequired, TypedDict
from uuid import UUID

from kmapp.api.typed_dict_schemas import COMPONENT_NAMES, ParsedAnswer, VerifiedAnswer
from rules.promotion.evidence import ToolChange

COMPONENT_NAMES[ToolChange] = "TurnShown"


class InScope(TypedDict):
    """The account and the scope of a response."""

    tenant_id: UUID
    scope: str


class RuleShown(ParsedAnswer):
    """A rule. `if`, `then` and `exceptions` have the suffix `_json`."""

    id: UUID
    uri: str
    client_id: str | None
    scope: str
    name: str
    summary: str
    if_json: dict[str, Any]
    then_json: dict[str, Any]
    exceptions_json: list[Any]
    priority: int
    weight: float
    audience: str
    audience_id: str | None
    state: str
    lineage: UUID
    edition: int
    version: int
    issues: list[dict[str, str]]
    shadowed_at: datetime | None
    activated_at: datetime | None
    created_at: datetime
    updated_at: datetime
    commit_id: UUID


class RulesAnswer(VerifiedAnswer):
    """A page of rules; `next` is the `after` of the next page."""

    rules: list[RuleShown]
    next: str | None


class RankShown(TypedDict):
    """The rank of a rule and its parts."""

    score: float
    evidence_score: float
    priority: int
    weight: float
    specificity: int


class Stats(TypedDict):
    """Numbers of feedback on a rule."""

    positive: int
    negative: int


class MatchDetail(TypedDict):
    """The paths in the condition of a rule."""

    condition_paths: list[str]


class MatchedRule(TypedDict):
    """A matching rule."""

    rule_node_id: UUID
    state: str
    rule_scope: str
    summary: str
    if_json: dict[str, Any]
    then_json: dict[str, Any]
    exceptions_json: list[Any]
    stats: Stats
    rank: RankShown
    match_detail: MatchDetail
    commit_id: UUID


class SourceShown(TypedDict):
    """A rule that contributes to a policy."""

    rule_node_id: UUID
    state: str
    commit_id: UUID
    touched_paths: list[str]
    rank: RankShown


class ConflictShown(TypedDict):
    """A path that rules set to different values."""

    path: str
    winner_rule_node_id: UUID


class ConflictExplained(TypedDict):
    """The winning and the losing rules of a conflict, with the reason."""

    path: str
    winner: UUID
    losers: list[UUID]
    reason: str


class ToolConflict(TypedDict):
    """A tool on which rules disagree."""

    code: str
    message: str
    details: dict[str, Any]
    winner_rule_node_id: UUID


class ToolWinners(TypedDict):
    """The highest-ranked rule that prefers or denies each tool."""

    prefer_by_tool: dict[str, UUID]
    deny_by_tool: dict[str, UUID]


class ToolContribution(TypedDict):
    """The tool lists of one rule."""

    rule_node_id: UUID
    allow: list[str] | None
    deny: list[str]
    prefer: list[str]


class ToolExplained(TypedDict):
    """The origin of the combined tool lists."""

    notes: list[str]
    contributions: list[ToolContribution]
    winners: ToolWinners
    conflicts: list[ToolConflict]


class Applied(TypedDict):
    """The combined policy, its sources and its conflicts."""

    policy: dict[str, Any]
    sources: list[SourceShown]
    conflicts: list[ConflictShown]
    conflict_explain: list[ConflictExplained]
    tool_explain: ToolExplained
    shadow_policy: NotRequired[dict[str, Any]]
    shadow_sources: NotRequired[list[SourceShown]]
    shadow_conflicts: NotRequired[list[ConflictShown]]
    shadow_conflict_explain: NotRequired[list[ConflictExplained]]
    shadow_tool_explain: NotRequired[ToolExplained]


class Visibility(TypedDict):
    """The agent, user and app that the rules were evaluated for."""

    agent_id: str | None
    user_id: str | None
    app_id: str | None


class EvaluationSummary(TypedDict):
    """Counts of an evaluation."""

    considered: int
    matched_active: int
    matched_shadow: int
    conflicts: int


class EvaluateAnswer(InScope, VerifiedAnswer):
    """The result of evaluating the rules for a context."""

    considered: int
    matched: int
    skipped_invalid_then: int
    invalid_then_sample: list[Any]
    active: list[MatchedRule]
    shadow: list[MatchedRule]
    agent_visibility_summary: Visibility
    applied: Applied
    evaluation_summary: EvaluationSummary


class StateAnswer(InScope, ParsedAnswer):
    """The state of a rule after a change, and the commit of the change."""

    rule_node_id: UUID
    state: str
    version: int
    commit_id: UUID
    commit_uri: str
    commit_hash: str


class IntervalShown(TypedDict):
    """A share and its 95 % interval."""

    share: float
    low: float
    high: float


class EvidenceAnswer(TypedDict):
    """The evidence of a rule in shadow, and the result of the gate."""

    rule_node_id: UUID
    state: str
    since: datetime | None
    counts: dict[str, int]
    matched: IntervalShown
    changed: IntervalShown
    against: IntervalShown
    gate_open: bool
    gate_missing: list[str]
    turns: list[ToolChange]
    conflicts: list["ClashShown"]


class ClashShown(ConflictShown):
    """Rules in conflict with this rule over one path, in decisions that it matched."""

    code: str
    loser_rule_node_ids: list[UUID]
    times: int
    latest_decision_id: UUID


class GateShown(ParsedAnswer):
    """The evidence that a rule needs to become active, and the retention of decisions."""

    min_seen: int
    min_changed: int
    max_against: float
    second_person: bool
    decision_days: int | None


class BacktestShown(ParsedAnswer):
    """A test of a rule on past decisions; `status` is pending, running, succeeded or failed."""

    id: UUID
    rule_node_id: UUID
    status: str
    total: int
    done: int
    seen: int
    matched: int
    changed: int
    examples: list[dict[str, Any]]
    created_at: datetime
    finished_at: datetime | None
