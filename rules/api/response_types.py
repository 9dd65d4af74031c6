"""Response types of rules."""

from datetime import datetime
from typing import Any, NotRequired, TypedDict
from uuid import UUID


class RuleShown(TypedDict):
    """A rule, whole. `if`, `then` and `exceptions` stand under the names of the wire."""

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


class RulesAnswer(TypedDict):
    """A page of rules; `next` asks for the one after it."""

    rules: list[RuleShown]
    next: str | None


class RankShown(TypedDict):
    """Why a rule stands above another."""

    score: float
    evidence_score: float
    priority: int
    weight: float
    specificity: int


class Stats(TypedDict):
    """Feedback on a rule."""

    positive: int
    negative: int


class MatchDetail(TypedDict):
    """Where a rule looked."""

    condition_paths: list[str]


class MatchedRule(TypedDict):
    """A rule that holds."""

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
    """A rule that a policy comes from."""

    rule_node_id: UUID
    state: str
    commit_id: UUID
    touched_paths: list[str]
    rank: RankShown


class ConflictShown(TypedDict):
    """A place of which rules say different things."""

    path: str
    winner_rule_node_id: UUID


class ConflictExplained(TypedDict):
    """Who has it, and why."""

    path: str
    winner: UUID
    losers: list[UUID]
    reason: str


class ToolConflict(TypedDict):
    """A tool of which rules say different things."""

    code: str
    message: str
    details: dict[str, Any]
    winner_rule_node_id: UUID


class ToolWinners(TypedDict):
    """The best rule behind each tool that is preferred or denied."""

    prefer_by_tool: dict[str, UUID]
    deny_by_tool: dict[str, UUID]


class ToolContribution(TypedDict):
    """What one rule says of tools."""

    rule_node_id: UUID
    allow: list[str] | None
    deny: list[str]
    prefer: list[str]


class ToolExplained(TypedDict):
    """How the lists of tools came about."""

    notes: list[str]
    contributions: list[ToolContribution]
    winners: ToolWinners
    conflicts: list[ToolConflict]


class Applied(TypedDict):
    """What applies, and where it comes from."""

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
    """Whose rules were looked at."""

    agent_id: str | None
    user_id: str | None
    app_id: str | None


class EvaluationSummary(TypedDict):
    """The figures of an evaluation."""

    considered: int
    matched_active: int
    matched_shadow: int
    conflicts: int


class EvaluateAnswer(TypedDict):
    """What the rules say of a context."""

    tenant_id: UUID
    scope: str
    considered: int
    matched: int
    skipped_invalid_then: int
    invalid_then_sample: list[Any]
    active: list[MatchedRule]
    shadow: list[MatchedRule]
    agent_visibility_summary: Visibility
    applied: Applied
    evaluation_summary: EvaluationSummary


class StateAnswer(TypedDict):
    """Where a rule is now, and the commit that brought it there."""

    tenant_id: UUID
    scope: str
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
    """What is known of a rule, and what the gate says to it."""

    rule_node_id: UUID
    state: str
    since: datetime | None
    counts: dict[str, int]
    matched: IntervalShown
    changed: IntervalShown
    against: IntervalShown
    gate_open: bool
    gate_missing: list[str]
    turns: list["TurnShown"]
    conflicts: list["ClashShown"]


class TurnShown(TypedDict):
    """Decisions that would have gone from one tool to another, and how they went as they were.

    None is no tool. From a tool to itself: its order or other values would be different.
    """

    selected: str | None
    would_select: str | None
    times: int
    positive: int
    negative: int


class ClashShown(TypedDict):
    """Rules that would clash with it over one place, in decisions that it matched."""

    path: str
    code: str
    winner_rule_node_id: UUID
    loser_rule_node_ids: list[UUID]
    times: int
    latest_decision_id: UUID


class GateShown(TypedDict):
    """What a rule must have shown before it counts, and how long decisions are kept."""

    min_seen: int
    min_changed: int
    max_against: float
    second_person: bool
    decision_days: int | None


class BacktestShown(TypedDict):
    """A rule tried on what was decided: pending, running, succeeded or failed."""

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
