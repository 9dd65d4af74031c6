"""Response types of tools and decisions."""

from datetime import datetime
from typing import Any, NotRequired, TypedDict
from uuid import UUID

from rules.api.response_types import Applied, MatchedRule, ToolConflict


class Denied(TypedDict):
    """A candidate that may not be used, and why: deny_list or not_in_allow_list."""

    name: str
    reason: str


class Fallback(TypedDict):
    """What was done when a list left no tool: none, allowlist_filtered_all, deny_filtered_all."""

    applied: bool
    reason: str
    note: str | None
    effective_mode: str


class SelectionShown(TypedDict):
    """What became of the candidates."""

    candidates: list[str]
    allowed: list[str]
    denied: list[Denied]
    preferred: list[str]
    ordered: list[str]
    selected: str | None
    fallback: Fallback


class SelectedBy(TypedDict):
    """The rules behind a selection."""

    considered: int
    matched: int
    active: list[MatchedRule]
    shadow: list[MatchedRule]
    applied: Applied
    tool_conflicts_summary: list[ToolConflict]
    shadow_selection: NotRequired[SelectionShown]


class DecisionLink(TypedDict):
    """The record of a decision, in short."""

    decision_id: UUID
    decision_uri: str
    run_id: str | None
    selected_tool: str | None
    policy_sha256: str
    source_rule_ids: list[UUID]
    created_at: datetime


class SelectAnswer(TypedDict):
    """Which tool to use."""

    tenant_id: UUID
    scope: str
    candidates: list[str]
    selection: SelectionShown
    rules: SelectedBy
    decision: DecisionLink
    selection_summary: dict[str, Any]
    execution_kernel: dict[str, Any]


class WatcherShown(TypedDict):
    """What a watching rule would have made of a decision."""

    rule_node_id: UUID
    matched: bool
    changed: bool
    after: dict[str, Any]


class DecisionMetadata(TypedDict):
    """What else is known of a decision."""

    policy: dict[str, Any]
    denied: list[Denied]
    ordered: list[str]
    strict: bool
    fallback: str | None
    considered: int
    conflicts: list[dict[str, Any]]
    shadow: NotRequired[list[WatcherShown]]


class DecisionShown(DecisionLink):
    """The record of a decision. Decisions are records: no commit holds them."""

    decision_kind: str
    candidates: list[str]
    context_sha256: str
    metadata: DecisionMetadata
    commit_id: None
    commit_uri: None


class DecisionAnswer(TypedDict):
    """A decision, and how it was found."""

    tenant_id: UUID
    scope: str
    lookup_mode: str
    decision: DecisionShown


class FeedbackShown(TypedDict):
    """One piece of feedback; of all rules it counted for, the first is named."""

    id: UUID
    rule_node_id: UUID | None
    rule_node_ids: list[UUID]
    outcome: str
    note: str | None
    source: str
    decision_id: UUID | None
    commit_id: UUID
    created_at: datetime


class RunFeedback(TypedDict):
    """The feedback of a run."""

    total: int
    by_outcome: dict[str, int]
    linked_decision_count: int
    tools_feedback_count: int
    recent: list[FeedbackShown]


class Lifecycle(TypedDict):
    """How far a run is: decision_recorded, or feedback_linked."""

    status: str
    decision_count: int
    latest_decision_at: datetime | None
    latest_feedback_at: datetime | None


class RunAnswer(TypedDict):
    """A run: what was decided in it, and how that went."""

    tenant_id: UUID
    scope: str
    run_id: str
    lifecycle: Lifecycle
    decisions: list[DecisionShown]
    feedback: NotRequired[RunFeedback]


class FeedbackAnswer(TypedDict):
    """What feedback counted for. Sent again, it answers with the first commit."""

    ok: bool
    tenant_id: UUID
    scope: str
    updated_rules: int
    rule_node_ids: list[UUID]
    commit_id: UUID
    commit_uri: str
    commit_hash: str
    decision_id: UUID | None
    decision_uri: str | None
    decision_link_mode: str | None
    decision_policy_sha256: str | None
