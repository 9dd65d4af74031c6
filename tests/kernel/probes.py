"""How every route is asked for rows of another account; some routes take no id."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from context.archives.placeholders import Archived, render_placeholder
from tests.kernel.names import Names
from tests.routes import ALL_ROUTES

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
REFUSED = {403, 404}
NOT_A_METHOD = 405
# What differs between equal responses: form tokens, request ids, the ids sent.
CHANGING = re.compile(
    r"\"tokens\":{[^{}]*}|\b[A-Za-z0-9]{64}\b|[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}|\bc0\b|name-of-[a-z]+"
)

Fields = Mapping[str, Any]


def _nothing(names: Names) -> Sequence[Fields]:
    return [{}]


def _which(**more: Any) -> Callable[[Names], Sequence[Fields]]:
    return lambda names: [{"id": str(names.entry), **more}, {"client_id": names.client_id, **more}]


def _form(**said: str) -> Callable[[Names], Sequence[Fields]]:
    return lambda names: [said]


@dataclass(frozen=True, slots=True)
class Probe:
    """The kind of id in the address, and the queries, forms or bodies that are sent."""

    pk: str = ""
    said: Callable[[Names], Sequence[Fields]] = _nothing
    refused: frozenset[int] = frozenset(REFUSED)


def _edges(names: Names) -> Sequence[Fields]:
    """Return edges between a memory of the caller and one of the other account."""
    mine, theirs = {"client_id": "name-of-mine"}, {"id": str(names.entry)}
    node = {**mine, "text": "Mine."}
    ends = [(mine, theirs), (theirs, mine), (mine, {"client_id": names.client_id})]
    return [
        {"nodes": [node], "edges": [{"type": "related_to", "src": src, "dst": dst}]}
        for src, dst in ends
    ]


def _feedback(names: Names) -> Sequence[Fields]:
    asked = {"context": {}, "candidates": ["bash"], "selected_tool": "bash", "outcome": "negative"}
    return [{**asked, "decision_id": str(names.decision)}]


def _rated(names: Names) -> Sequence[Fields]:
    said = {"outcome": "negative", "reason": "Because."}
    return [*_which(**said)(names), {"rule_node_id": str(names.rule), **said}]


def _placeholder(names: Names) -> Fields:
    """Return a tool's message that names their archive."""
    said = Archived(
        uuid=names.archive, tool_name="t", query="", time="", length=1, summary="", sources=()
    )
    return {"role": "tool", "tool_call_id": "a", "content": render_placeholder(said, "en")}


def _quotes(names: Names) -> Sequence[Fields]:
    locator = {"start": 0, "end": 1}
    return [
        {"id": str(names.chunk)},
        {"citation": {"ref": str(names.document), "locator": locator}},
    ]


V1 = {"version": "1"}
_NARROWED = Probe(said=lambda names: [{"rule": str(names.rule)}], refused=frozenset({200}))
PROBES = {
    "api:event": Probe("event"),
    # The end of an edge is part of what is written: an unknown one makes the whole write invalid.
    "memory:api_write": Probe(said=_edges, refused=frozenset({400})),
    "memory:api_get": Probe(said=_which()),
    "memory:api_update": Probe(said=_which(text="Mine now.", reason="Because.")),
    "memory:api_forget": Probe(said=_which(reason="Because.")),
    # The list is empty, and nothing is forgotten without a confirmation.
    "memory:forget_these": Probe(
        said=_form(user_id="name-of-theirs"), refused=frozenset({200, 400})
    ),
    "memory:api_erase": Probe(
        said=lambda names: [
            {"ids": [str(names.entry)]},
            {"client_ids": [names.client_id]},
            {"ids": [str(names.entry)], "confirm_token": "x"},
        ]
    ),
    "memory:view_update": Probe("view", _form(query="kind=fact")),
    "memory:view_delete": Probe("view"),
    "memory:erase": Probe(said=lambda names: [{"id": str(names.entry)}]),
    # Lists leave out what the caller may not see.
    "memory:api_list": Probe(
        said=lambda names: [{"ids": [str(names.entry)]}, {"client_ids": [names.client_id]}],
        refused=frozenset({200}),
    ),
    "memory:api_feedback": Probe(said=_rated),
    "memory:api_history": Probe("entry"),
    "memory:entry": Probe("entry"),
    "memory:edit": Probe("entry", _form(**V1, content="Mine now.", title="", kind="fact")),
    "memory:pin": Probe("entry", _form(**V1)),
    "memory:unpin": Probe("entry", _form(**V1)),
    "memory:forget": Probe("entry", _form(**V1, reason="Because.")),
    "memory:revert": Probe("entry", _form(**V1, to="1")),
    "memory:rate": Probe("entry", _form(outcome="positive")),
    "memory:undo": Probe("entry", _form(**V1)),
    "memory:topic": Probe("entry"),
    "memory:topic_map": Probe("entry"),
    "memory:topic_rename": Probe("entry", _form(**V1, name="Mine now")),
    "memory:topic_promote": Probe("entry", _form(**V1)),
    "memory:topic_merge": Probe("entry", lambda names: [{"into": str(names.proposal)}]),
    "memory:topic_part": Probe("entry", _form(**V1)),
    "memory:topic_follow": Probe("suggestion"),
    "memory:topic_decline": Probe("suggestion"),
    "memory:review": Probe(said=lambda names: [{"at": str(names.proposal)}]),
    # Unknown proposals are ignored.
    "memory:bulk": Probe(
        said=lambda names: [{"which": "marked", "deed": "approve", "pick": f"{names.proposal}:1"}],
        refused=frozenset({200, 302}),
    ),
    "memory:bulk_run": Probe("run"),
    "memory:bulk_undo": Probe("run"),
    "memory:review_merge": Probe("proposal", _form(**V1, known_version="1")),
    "memory:review_pulse": Probe("proposal", lambda names: [{"token": str(names.proposal)}]),
    "memory:review_take": Probe("proposal"),
    "memory:review_sources": Probe("proposal"),
    "memory:approve": Probe("proposal", _form(**V1)),
    "memory:reject": Probe("proposal", _form(**V1, reason="Because.")),
    "memory:review_pin": Probe("proposal", _form(**V1, pinned="yes")),
    "memory:review_edit": Probe(
        "proposal", _form(**V1, content="Mine now.", title="", kind="fact", then="approve")
    ),
    "rules:api_rule": Probe("rule", lambda names: [{"name": "Mine now."}]),
    "rules:api_rollback": Probe("rule"),
    "rules:api_evidence": Probe("rule"),
    "rules:api_backtest": Probe("rule"),
    "rules:api_rate": Probe("rule", lambda names: [{"outcome": "negative"}]),
    "rules:api_state": Probe(
        said=lambda names: [
            {"rule_node_id": str(names.rule), "state": to, "input_text": "why"}
            for to in ("draft", "shadow", "active", "disabled")
        ]
    ),
    "rules:api_decision": Probe(
        said=lambda names: [
            {"decision_id": str(names.decision)},
            {"decision_uri": f"aionis://{names.account}/default/decision/{names.decision}"},
        ]
    ),
    "rules:api_feedback": Probe(said=_feedback),
    "rules:rule": Probe("rule"),
    "rules:edit": Probe("rule", _form(**V1, name="Mine now.", priority="1", weight="1")),
    "rules:check": Probe(said=lambda names: [{"rule": str(names.rule)}]),
    "rules:backtest": Probe("rule", _form(decisions="100")),
    "rules:backtest_progress": Probe("rule"),
    "rules:decision": Probe("decision"),
    "rules:rate": Probe("decision", _form(outcome="negative")),
    # Lists narrowed to an unknown rule are empty.
    "rules:decisions": _NARROWED,
    "rules:conflicts": _NARROWED,
    "rules:feedback": _NARROWED,
    "rules:move": Probe("rule", _form(**V1, to="disabled", reason="Because.")),
    "rules:rollback": Probe("rule", _form(**V1)),
    "rules:promotion": Probe("rule", _form(**V1, reason="Because.", override="yes")),
    "rules:approve": Probe("promotion", _form(**V1)),
    "rules:withdraw": Probe("promotion", _form(**V1)),
    "context:api_result": Probe("archive"),
    "context:api_results_load": Probe(said=lambda names: [{"uuid": str(names.archive)}]),
    "context:api_report": Probe("report"),
    "context:api_report_replay": Probe("report"),
    "context:api_comparison": Probe("comparison"),
    "context:api_comparison_calls": Probe("comparison"),
    "context:comparison": Probe("comparison"),
    "context:comparison_progress": Probe("comparison"),
    "context:call": Probe("report", lambda names: [{"with": str(names.report)}]),
    "context:api_report_outcome": Probe("report", lambda names: [{"success": True}]),
    "context:api_reports": Probe(
        said=lambda names: [{"before": str(names.report)}], refused=frozenset({200})
    ),
    # Unknown archives are not loaded.
    "context:api_prepare": Probe(
        said=lambda names: [
            {"messages": [{"role": "user", "content": "?"}], "load_uuids": [str(names.archive)]}
        ],
        refused=frozenset({200}),
    ),
    "context:api_restore": Probe(
        said=lambda names: [{"messages": [_placeholder(names)]}], refused=frozenset({200})
    ),
    "context:api_results": Probe(
        said=lambda names: [
            {"before": str(names.archive), "conversation_id": "c", "tool_name": "t", "result": "x"}
        ],
        refused=frozenset({200}),
    ),
    "context:archive": Probe("archive"),
    "context:archive_erase": Probe("archive", _form(reason="Because.")),
    "knowledge:api_get": Probe(said=_quotes),
    "knowledge:api_source": Probe("source"),
    "knowledge:api_document": Probe("document"),
    "knowledge:source": Probe("source"),
    "knowledge:progress": Probe("source"),
    "knowledge:source_erase": Probe("source"),
    "knowledge:document": Probe("document"),
    "knowledge:retry": Probe("document"),
    "knowledge:document_erase": Probe("document"),
    "knowledge:chunk": Probe("chunk"),
    "knowledge:forget": Probe("question"),
    "knowledge:lorebook": Probe("lorebook"),
    "knowledge:lore_add": Probe("lorebook", _form(version="0", content="Mine.", keys="mine")),
    "knowledge:lore_erase": Probe("lorebook"),
    "knowledge:lore_entry": Probe("lore", _form(version="1", content="Mine.", keys="mine")),
    "knowledge:lore_drop": Probe("lore"),
    "web:account": Probe(said=lambda names: [{"account": str(names.account)}]),
    "web:key_rotate": Probe("key"),
    "web:key_revoke": Probe("key"),
    "web:member_role": Probe("member", _form(role="admin")),
    "web:member_remove": Probe("member"),
    "web:replay": Probe(said=lambda names: [{"delivery": str(names.delivery)}]),
    "web:delivery": Probe("delivery"),
    "web:commit": Probe("commit"),
}


# The stock admin has its own permissions; protocols of other products are probed in tests/interop.
ROUTES = {
    each.name: each.path for each in ALL_ROUTES if not each.name.startswith(("admin:", "interop:"))
}

# --- Routes without probe -------------------------------------------------------------------------

# The client may choose the id of a new row; the last tests of test_probes cover these.
CHOSEN = {"memory:api_store", "rules:api_rules"}
NAMES_WITHOUT_IDS = {
    "api": """
        agent_tools docs health liveness metrics schema version
    """,
    "context": """
        api_assemble api_comparisons api_costs api_load_tool api_results_search api_settings
        api_variants archives calls compare comparisons costs keeping keeping_set settings
        settings_set variants
    """,
    "knowledge": """
        api_ingest api_lore api_search api_sources ask bench comparison failures lore
        lore_new sources upload
    """,
    "memory": """
        api_add api_commits api_inject api_recall api_recall_text api_search
        api_store_if_worthwhile api_verify entries export lab policy policy_set summary
        topics view_save
    """,
    "rules": """
        api_evaluate api_gate api_run api_schemas api_select book book_set counts new rules
        summary
    """,
    "web": """
        home key_issue keys ledger ledger_summary ledger_verify member_add members
        operations operations_summary password preferences sign_in sign_out
    """,
}
WITHOUT_IDS = {
    f"{app}:{name}" for app, names in NAMES_WITHOUT_IDS.items() for name in names.split()
}
