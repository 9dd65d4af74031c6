"""Valid bodies for every route that takes one; together they lead to all of its fields.

Each is taken as it is, so that what is hostile in one place meets nothing else that is refused.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tests.kernel.names import Names

Body = Mapping[str, Any]
WHEN = "2026-01-02T03:04:05Z"
IDS = {"user_id": "u", "agent_id": "a", "app_id": "p", "run_id": "r", "scope": ""}
NARROW = {
    **IDS,
    "kinds": ["fact"],
    "tags": ["t"],
    "observed_after": WHEN,
    "observed_before": "2027-01-02T03:04:05Z",
    "filters": {"kind": "fact"},
}
CHAT = {"conversation_id": "c", "thread_id": "t", "user_id": "u", "agent_id": "a"}
TALK = [{"role": "user", "content": "Where is the kettle?"}]
MEMORY = {
    **IDS,
    "text": "The kettle is red.",
    "kind": "fact",
    "title": "Kettle",
    "metadata": {"colour": "red"},
    "tags": ["t"],
    "entities": ["kettle"],
    "sources": [{"a": 1}],
    "raw_ref": "r",
    "evidence_ref": "e",
    "visibility": "user",
    "tier": "hot",
    "importance": 0.5,
    "observed_at": WHEN,
    "valid_from": WHEN,
    "valid_to": "2030-01-02T03:04:05Z",
    "expires_at": "2031-01-02T03:04:05Z",
}
RULE = {
    "name": "No curl",
    "summary": "Ask first.",
    "if": {"intent": "fetch"},
    "then": {"tool": {"deny": ["curl"]}},
    "exceptions": [{"intent": "test"}],
    "audience": "user",
    "audience_id": "u",
    "reason": "Because.",
}
ASKED = {"context": {"intent": "fetch"}, "user_id": "u", "agent_id": "a", "app_id": "p"}
PART = {"type": "text", "text": "I drink tea.", "image_url": {"url": "https://example.org/a.png"}}
SAID = {"role": "user", "name": "ann", "content": "I drink tea."}
CALL = {"id": "1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
LOOKED = [
    {"role": "user", "content": "What colour is it?"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "1", "content": "The kettle is red. " * 9},
    {"role": "assistant", "content": "It is red."},
]
TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
SIDE = {"policy": {"head": 10}, "tool_profile": "full", "variant": "v1"}
SOURCE = {"name": "shelf", "kind": "upload", "scope": "", "ref": "r", "revision": "1"}
DOCUMENT = {"ref": "a.md", "title": "A", "url": "https://example.org/a", "revision": "1"}


def _cited(names: Names) -> Sequence[Body]:
    locator = {"start": 0, "end": 1}
    return [
        {"citation": {"ref": str(names.document), "locator": locator}},
        {"id": str(names.chunk)},
    ]


def _written(names: Names) -> Sequence[Body]:
    edge = {"type": "related_to", "src": {"client_id": "x"}, "dst": {"id": str(names.entry)}}
    other = {**edge, "src": {"id": str(names.entry)}, "dst": {"client_id": "x"}}
    node = {**MEMORY, "client_id": "x"}
    rule = {name: RULE[name] for name in ("if", "then", "exceptions")}
    said = {"actor": "ann", "input_text": "A talk.", "owner_agent_id": "a", "scope": ""}
    return [
        {"nodes": [node], "edges": [edge], **said},
        {"nodes": [node], "edges": [other]},
        {"nodes": [{"kind": "rule", "title": "No curl", "text": "Ask.", "metadata": rule}]},
    ]


def _rated(names: Names) -> Sequence[Body]:
    said = {"outcome": "positive", "reason": "Because.", "used_in": "r"}
    return [{"id": str(names.entry), **said}, {"client_id": names.client_id, **said}]


def _same(*bodies: Body) -> Callable[[Names], Sequence[Body]]:
    return lambda names: bodies


BODIES: dict[str, Callable[[Names], Sequence[Body]]] = {
    "memory:api_write": _written,
    "memory:api_store": _same({**MEMORY, "client_id": "x"}),
    "memory:api_store_if_worthwhile": _same(
        {
            **IDS,
            "metadata": {"colour": "red"},
            "observed_at": WHEN,
            "task_goal": "Boil water.",
            "task_result": "It boils.",
            "execution_log": "Done.",
        }
    ),
    "memory:api_add": _same(
        *(
            {**IDS, "messages": messages, "metadata": {"a": 1}, "observed_at": WHEN, "prompt": "p"}
            for messages in (
                [SAID],
                "I drink tea.",
                SAID,
                [{**SAID, "content": PART}],
                [{**SAID, "content": [PART]}],
                {**SAID, "content": PART},
                {**SAID, "content": [PART]},
            )
        )
    ),
    "memory:api_get": lambda names: [
        {"id": str(names.entry)},
        {"client_id": names.client_id, "scope": ""},
        {"citation": f"aionis://{names.account}/default/event/{names.entry}"},
    ],
    "memory:api_update": lambda names: [
        {
            "id": str(names.entry),
            "text": "The kettle is blue.",
            "title": "Kettle",
            "kind": "fact",
            "metadata": {"colour": "blue"},
            "tags": ["t"],
            "expires_at": "2031-01-02T03:04:05Z",
            "reason": "Because.",
        },
        {"client_id": names.client_id, "title": "Kettle"},
        {"client_id": names.client_id, "instruction": "Make it blue."},
    ],
    "memory:api_forget": lambda names: [
        {"id": str(names.entry), "reason": "Because."},
        {"client_id": names.client_id},
        NARROW,
    ],
    "memory:api_erase": lambda names: [
        {"ids": [str(names.entry)], "reason": "Because."},
        {"client_ids": [names.client_id]},
        {**IDS, "written_before": "2099-01-02T03:04:05Z"},
    ],
    "memory:api_feedback": _rated,
    "memory:api_list": lambda names: [
        {**IDS, "kinds": ["fact"], "tags": ["t"], "filters": {"kind": "fact"}, "status": "active"},
        {"ids": [str(names.entry)], "as_of": WHEN},
        {"client_ids": [names.client_id]},
    ],
    "memory:api_search": _same({**NARROW, "query": "kettle", "as_of": WHEN}, {"query": "kettle"}),
    "memory:api_recall": _same({**NARROW, "query_embedding": [1.0] + [0.0] * 383}),
    "memory:api_recall_text": _same({**NARROW, "query": "kettle"}, {"query": "kettle"}),
    "memory:api_inject": _same({**NARROW, "query": "kettle"}, {"query": "kettle"}),
    "rules:api_rules": _same({**RULE, "client_id": "x", "scope": ""}),
    "rules:api_rule": _same(RULE),
    "rules:api_gate": _same({"reason": "Because.", "min_seen": 5}),
    "rules:api_backtest": _same({"decisions": 10}),
    "rules:api_rate": _same({"outcome": "positive", "note": "n", "run_id": "r", "input_text": "t"}),
    "rules:api_rollback": _same({"reason": "Because."}),
    "rules:api_state": lambda names: [
        {"rule_node_id": str(names.rule), "state": "disabled", "input_text": "t", "scope": ""}
    ],
    "rules:api_evaluate": _same({**ASKED, "scope": ""}),
    "rules:api_select": _same({**ASKED, "scope": "", "candidates": ["bash"], "run_id": "r"}),
    "rules:api_decision": lambda names: [
        {"decision_id": str(names.decision)},
        {"decision_uri": f"aionis://{names.account}/default/decision/{names.decision}"},
        {"run_id": "r"},
    ],
    "rules:api_run": _same({"run_id": "r", "scope": ""}),
    "rules:api_feedback": lambda names: [
        {
            **ASKED,
            "candidates": ["bash", "curl", "grep"],
            "selected_tool": "bash",
            "outcome": "positive",
            "target": "all",
            "note": "n",
            "input_text": "t",
            "run_id": "r",
        },
    ],
    "context:api_assemble": _same(
        {
            **CHAT,
            "app_id": "p",
            "scope": "",
            "messages": TALK,
            "model": "small",
            "system": "Be kind.",
            "sections": [{"name": "s", "text": "Be brief."}],
            "tools": [TOOL],
            "tool_groups": {"look": "web"},
            "required_tools": ["look"],
            "tool_profile": "full",
            "provider": "openai",
            "context_window_tokens": 8_000,
            "reserved_output_tokens": 100,
            "query": "kettle",
            "sources": ["rules"],
            "knowledge_sources": ["docs"],
            "lorebooks": ["lore"],
            "rules_context": {"intent": "fetch"},
            "policy": {"head": 10},
            "language": "en",
        },
    ),
    "context:api_prepare": _same(
        {
            **CHAT,
            "messages": [*LOOKED, *TALK],
            "keep_turns": 1,
            "query": "kettle",
            "load": "keywords",
        }
    ),
    "context:api_restore": _same({**CHAT, "messages": TALK}),
    "context:api_settings": _same(
        {
            "policy": {"head": 10},
            "prices": {"small": {"input": 1}},
            "variants": {},
            "inputs_days": 9,
            "reason": "Because.",
        }
    ),
    "context:api_report_outcome": _same(
        {"success": True, "usage": {"input_tokens": 1}, "model": "small"}
    ),
    "context:api_report_replay": _same(SIDE),
    "context:api_comparisons": _same({"left": SIDE, "right": SIDE, "agent_id": "a", "model": "m"}),
    "context:api_results": _same(
        *(
            {
                **CHAT,
                "tool_name": "look",
                "tool_input": {"query": "kettle"},
                "tool_call_id": "1",
                "result": result,
                "sources": ["a.md"],
                "threshold": 0,
                "language": "en",
            }
            for result in ("It is red.", ["It is red."])
        )
    ),
    "context:api_results_load": lambda names: [{**CHAT, "uuid": str(names.archive)}],
    "context:api_results_search": _same({**CHAT, "query": "kettle", "tool_name": "look"}),
    "knowledge:api_get": _cited,
    "knowledge:api_ingest": _same(
        {
            "source": SOURCE,
            "documents": [{**DOCUMENT, "text": "# A\n\nTea.", "observed_at": WHEN}],
            "remove": ["b.md"],
        },
        {"source": SOURCE, "documents": [{"ref": "b.html", "html": "<p>Tea.</p>"}]},
        {"source": SOURCE, "documents": [{"ref": "c.md", "content_base64": "VGVhLg=="}]},
    ),
    "knowledge:api_sources": _same({**SOURCE, "trust": "untrusted"}),
    "knowledge:api_search": _same({"query": "tea", "scope": ""}),
    "knowledge:api_lore": _same(
        {"messages": ["Tea?"], "scope": "", "state": {}},
        {"messages": [{"role": "user", "content": "Tea?"}, {"content": [{"text": "Tea?"}]}]},
        {"messages": [{"content": [{"type": "text", "text": "Tea?"}]}]},
    ),
}
