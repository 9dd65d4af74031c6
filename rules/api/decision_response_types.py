"""Response types of tools and decisions."""

from datetime import datetime
from typing import Any, NotRequired, TypedDict
from uuid import UUID

from kmapp.api.typed_dict_schemas import ParsedAnswer, VerifiedAnswer
from rules.api.response_types import Applied, InScope, MatchedRule, ToolConflict


class Denied(TypedDict):
    """An excluded candidate; `reason` is deny_list or not_in_allow_list."""

    name: str
    reason: str


class Fallback(TypedDict):
    """The fallback if no tool is left; `reason` is none or the list that excluded all tools."""

    applied: bool
    reason: str
    note: str | None
    effective_mode: str


class SelectionShown(TypedDict):
    """The result for each candidate."""

    candidates: list[str]
    allowed: list[str]
    denied: list[Denied]
    preferred: list[str]
    ordered: list[str]
    selected: str | None
    fallback: Fallback


class SelectedBy(TypedDict):
    """The rules that a selection is based on."""

    considered: int
    matched: int
    active: list[MatchedRule]
    shadow: list[MatchedRule]
    applied: Applied
    tool_conflicts_summary: list[ToolConflict]
    shadow_selection: NotRequired[SelectionShown]


class DecisionLink(TypedDict):
    """A recorded decision without its details."""

    decision_id: UUID
    decision_uri: str
    run_id: str | None
    selected_tool: str | None
    policy_sha256: str
    source_rule_ids: list[UUID]
    created_at: datetime


class SelectAnswer(InScope, VerifiedAnswer):
    """The selected tool and the rules that led to it."""

    candidates: list[str]
    selection: SelectionShown
    rules: SelectedBy
    decision: DecisionLink
    selection_summary: dict[str, Any]
    execution_kernel: dict[str, Any]


class WatcherShown(TypedDict):
    """The effect that a shadow rule would have had on a decision."""

    rule_node_id: UUID
    matched: bool
    changed: bool
    after: dict[str, Any]


class DecisionMetadata(TypedDict):
    """Details of a decision."""

    policy: dict[str, Any]
    denied: list[Denied]
    ordered: list[str]
    strict: bool
    fallback: str | None
    considered: int
    conflicts: list[dict[str, Any]]
    shadow: NotRequired[list[WatcherShown]]


class DecisionShown(DecisionLink):
    """A recorded decision. Decisions are not part of a commit."""

    decision_kind: str
    candidates: list[str]
    context_sha256: str
    metadata: DecisionMetadata
    commit_id: None
    commit_uri: None


class DecisionAnswer(InScope, ParsedAnswer):
    """A decision; `lookup_mode` is decision_id or run_id_latest."""

    lookup_mode: str
    decision: DecisionShown


class FeedbackShown(TypedDict):
    """One feedback; `rule_node_id` is the first of the rules that it counts for."""

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
    """The progress of a run; `status` is decision_recorded or feedback_linked."""

    status: str
    decision_count: int
    latest_decision_at: datetime | None
    latest_feedback_at: datetime | None


class RunAnswer(InScope, ParsedAnswer):
    """The decisions of a run and their feedback."""

    run_id: str
    lifecycle: Lifecycle
    decisions: list[DecisionShown]
    feedback: NotRequired[RunFeedback]


class FeedbackAnswer(InScope, ParsedAnswer):
    """The recorded feedback. Repeated feedback returns the first commit."""

    ok: bool
    updated_rules: int
    rule_node_ids: list[UUID]
    commit_id: UUID
    commit_uri: str
    commit_hash: str
    decision_id: UUID | None
    decision_uri: str | None
    decision_link_mode: str | None
    decision_policy_sha256: str | None
