"""The published Aionis client against a running server."""

from typing import Any
from uuid import UUID, uuid4

import pytest
from aionis_sdk import AionisClient
from aionis_sdk.client import AionisApiError
from django.conf import settings
from django.test import override_settings

from kmapp.accounts.models import Account, ApiKey
from memory.models import MemoryEntry
from tests import makers

pytestmark = pytest.mark.usefixtures("module_commits")
TOOLS = ["bash", "curl", "grep"]
CONTEXT = {"intent": "fetch", "agent": {"id": "bot-7"}}
NODE = {
    "client_id": "no-curl",
    "type": "rule",
    "tier": "hot",
    "title": "No curl",
    "text_summary": "Fetching goes through grep.",
    "slots": {
        "if": {"intent": {"$eq": "fetch"}},
        "then": {"tool": {"deny": ["curl"], "prefer": ["grep"]}},
        "exceptions": [{"mode": "manual"}],
        "priority": 5,
    },
}


@pytest.fixture
def client(site: str, key: tuple[ApiKey, str]) -> Any:
    return AionisClient(base_url=site, api_key=key[1])


def refusal(call: Any, payload: dict[str, Any]) -> tuple[int, str]:
    with pytest.raises(AionisApiError) as refused:
        call(payload)
    return refused.value.status, refused.value.code


def shadowed(client: Any) -> tuple[str, dict[str, Any]]:
    """Return a rule in shadow mode, and the request that changes its state."""
    [node] = client.write({"input_text": "a talk", "nodes": [NODE]})["data"]["nodes"]
    state = {"rule_node_id": node["id"], "input_text": "tried out by hand"}
    client.rules_state({**state, "state": "shadow"})
    return node["id"], state


def test_rule_is_written_once(client: Any) -> None:
    batch = {"scope": "default", "input_text": "a talk", "nodes": [NODE]}
    answer = client.write(batch)
    assert answer["status"] == 201
    [node] = answer["data"]["nodes"]
    assert (node["type"], node["client_id"], node["status"]) == ("rule", "no-curl", "draft")
    again = client.write(batch)
    assert again["status"] == 200
    assert again["data"]["nodes"] == [node]
    assert again["data"]["commit_id"] == answer["data"]["commit_id"]
    other = {**batch, "nodes": [{**NODE, "title": "Another"}]}
    assert refusal(client.write, other) == (409, "client_id_conflict")
    with override_settings(SECRET_KEY="new", SECRET_KEY_FALLBACKS=[settings.SECRET_KEY]):
        assert client.write(batch)["data"]["nodes"] == [node], "known after an exchange, too"
    evaluated = client.rules_evaluate({"context": CONTEXT})["data"]
    assert (evaluated["considered"], evaluated["matched"]) == (0, 0), "a draft is not asked"
    jump = {"rule_node_id": node["id"], "state": "active", "input_text": "now"}
    assert refusal(client.rules_state, jump) == (409, "shadow_first")


def test_rule_moves_from_shadow_to_active(client: Any) -> None:
    rule, state = shadowed(client)
    evaluated = client.rules_evaluate({"context": CONTEXT, "include_shadow": True})["data"]
    assert [each["rule_node_id"] for each in evaluated["shadow"]] == [rule]
    assert evaluated["active"] == []
    assert evaluated["applied"]["policy"]["tool"] == {"deny": [], "prefer": []}
    assert evaluated["applied"]["shadow_policy"]["tool"]["deny"] == ["curl"]
    moved = client.rules_state({**state, "state": "active"})["data"]
    assert (moved["state"], len(moved["commit_hash"])) == ("active", 64)
    assert client.rules_state({**state, "state": "active"})["status"] == 200, "a retry"
    evaluated = client.rules_evaluate({"context": CONTEXT})["data"]
    [active] = evaluated["active"]
    assert active["rank"] == {
        "score": 5001,
        "evidence_score": 0,
        "priority": 5,
        "weight": 1,
        "specificity": 1,
    }
    assert active["match_detail"] == {"condition_paths": ["intent"]}
    assert evaluated["applied"]["sources"][0]["touched_paths"] == ["tool.deny", "tool.prefer"]
    held_off = client.rules_evaluate({"context": {**CONTEXT, "mode": "manual"}})["data"]
    assert held_off["matched"] == 0


def test_selection_is_recorded_and_rated(client: Any) -> None:
    rule, state = shadowed(client)
    client.rules_state({**state, "state": "active"})
    query = {"context": CONTEXT, "candidates": TOOLS, "run_id": "run-1"}
    selected = client.tools_select(query)["data"]
    assert selected["selection"]["ordered"] == ["grep", "bash"]
    assert selected["selection"]["denied"] == [{"name": "curl", "reason": "deny_list"}]
    decision = selected["decision"]
    assert decision["source_rule_ids"] == [rule]

    by_id = client.tools_decision({"decision_id": decision["decision_id"]})["data"]
    by_uri = client.tools_decision({"decision_uri": decision["decision_uri"]})["data"]
    latest = client.tools_decision({"run_id": "run-1"})["data"]
    assert by_id["decision"] == by_uri["decision"] == latest["decision"]
    assert (by_id["lookup_mode"], latest["lookup_mode"]) == ("decision_id", "run_id_latest")
    run = client.tools_run({"run_id": "run-1"})["data"]
    assert run["lifecycle"]["status"] == "decision_recorded"

    feedback = {**query, "selected_tool": "grep", "outcome": "positive", "input_text": "worked"}
    named = {**feedback, "decision_id": decision["decision_id"]}
    counted = client.tools_feedback(named)["data"]
    assert (counted["ok"], counted["updated_rules"]) == (True, 1)
    assert (counted["decision_link_mode"], counted["rule_node_ids"]) == ("provided", [rule])
    repeated = client.tools_feedback(named)["data"]
    assert (repeated["updated_rules"], repeated["commit_id"]) == (0, counted["commit_id"])
    by_run = client.tools_feedback({**feedback, "outcome": "neutral"})["data"]
    assert by_run["decision_link_mode"] == "inferred"
    alone = {**feedback, "run_id": "run-2"}
    made_up = client.tools_feedback(alone)["data"]
    assert made_up["decision_link_mode"] == "created_from_feedback"
    assert client.tools_feedback(alone)["data"]["decision_id"] == made_up["decision_id"]

    run = client.tools_run({"run_id": "run-1", "include_feedback": True})["data"]
    assert run["lifecycle"]["status"] == "feedback_linked"
    assert run["feedback"]["by_outcome"] == {"positive": 1, "neutral": 1}
    [active] = client.rules_evaluate({"context": CONTEXT})["data"]["active"]
    assert active["stats"] == {"positive": 2, "negative": 0}
    assert active["rank"]["score"] == 5201


def test_feedback_target_selects_the_rated_rules(client: Any) -> None:
    as_json = {"if": {"intent": "fetch"}, "then": {"output": {"format": "json"}}}
    others = [{**NODE, "client_id": name, "slots": as_json} for name in ("json", "trial", "draft")]
    batch = {"input_text": "a talk", "nodes": [NODE, *others]}
    by_tool, plain, trial, _draft = [n["id"] for n in client.write(batch)["data"]["nodes"]]
    for rule in (by_tool, plain, trial):
        for state in ("shadow", "active") if rule != trial else ("shadow",):
            client.rules_state({"rule_node_id": rule, "state": state, "input_text": "tried"})
    query = {"context": CONTEXT, "candidates": TOOLS, "run_id": "run-1"}
    client.tools_select(query)
    feedback = {**query, "selected_tool": "grep", "input_text": "worked"}
    for outcome, options, expected in (
        ("positive", {}, {by_tool}),
        ("neutral", {"target": "all"}, {by_tool, plain}),
        ("negative", {"target": "all", "include_shadow": True}, {by_tool, plain, trial}),
    ):
        counted = client.tools_feedback({**feedback, "outcome": outcome, **options})["data"]
        assert set(counted["rule_node_ids"]) == expected
        assert counted["updated_rules"] == len(expected)


def test_node_without_text_uses_its_title(client: Any, acme: Account) -> None:
    nodes = [{"type": "entity", "title": "Kiln 4"}, {"type": "topic", "title": "x", "slots": {}}]
    answer = client.write({"input_text": "a talk", "nodes": nodes})
    assert answer["status"] == 201
    assert makers.get(MemoryEntry, acme, title="Kiln 4").content == "Kiln 4"
    for node in ({"type": "entity"}, {"type": "entity", "title": " "}):
        assert refusal(client.write, {"input_text": "a", "nodes": [node]})[0] == 400


def test_rule_is_rated_once_per_run_and_outcome(client: Any) -> None:
    rule, state = shadowed(client)
    client.rules_state({**state, "state": "active"})
    rating = {"rule_node_id": rule, "outcome": "positive", "input_text": "it helped"}
    first = client.feedback({**rating, "run_id": "run-1"})
    assert (first["status"], first["data"]["rule_node_ids"]) == (201, [rule])
    again = client.feedback({**rating, "run_id": "run-1"})
    assert (again["status"], again["data"]["updated_rules"]) == (200, 0)
    assert again["data"]["commit_id"] == first["data"]["commit_id"]
    for other in ({"run_id": "run-2"}, {"run_id": "run-1", "outcome": "negative"}, {}):
        assert client.feedback({**rating, **other})["status"] == 201
    [active] = client.rules_evaluate({"context": CONTEXT})["data"]["active"]
    assert active["stats"] == {"positive": 3, "negative": 1}
    assert refusal(client.feedback, {**rating, "outcome": "great"}) == (400, "invalid_request")
    nobody = {**rating, "rule_node_id": str(uuid4())}
    missing = (404, "node_not_found_in_scope_or_visibility")
    assert refusal(client.feedback, nobody) == missing


def test_errors_have_the_codes_of_the_client(client: Any) -> None:
    nodes = [
        {**NODE, "client_id": "only", "slots": {"then": {"tool": {"allow": ["vim"]}}}},
        {**NODE, "client_id": "wrong", "slots": {"then": {"output": {"format": "xml"}}}},
        {"type": "event", "client_id": "seen", "text_summary": "A talk about tools."},
    ]
    written = client.write({"input_text": "said", "nodes": nodes})["data"]
    assert [node["type"] for node in written["nodes"]] == ["rule", "rule", "event"]
    only, invalid = written["nodes"][0]["id"], written["nodes"][1]["id"]
    state = {"rule_node_id": invalid, "state": "shadow", "input_text": "why"}
    assert refusal(client.rules_state, state) == (400, "invalid_rule_then_json")
    for to in ("shadow", "active"):
        client.rules_state({"rule_node_id": only, "state": to, "input_text": "why"})
    query = {"context": {}, "candidates": TOOLS}
    assert refusal(client.tools_select, query) == (400, "no_tools_allowed")
    loose = client.tools_select({**query, "strict": False})["data"]["selection"]
    assert loose["fallback"]["reason"] == "allowlist_filtered_all"
    assert loose["fallback"]["applied"]
    assert loose["selected"] == "bash"
    nobody = str(uuid4())
    missing = (404, "decision_not_found_in_scope")
    assert refusal(client.tools_decision, {"decision_id": nobody}) == missing
    unknown = {"rule_node_id": nobody, "state": "shadow", "input_text": "why"}
    assert refusal(client.rules_state, unknown) == (404, "node_not_found_in_scope_or_visibility")
    selected = client.tools_select({**query, "strict": False})["data"]["decision"]
    feedback = {**query, "outcome": "negative", "input_text": "x", "selected_tool": "grep"}
    mismatch = (400, "decision_selected_tool_mismatch")
    named = {**feedback, "decision_id": selected["decision_id"]}
    assert refusal(client.tools_feedback, named) == mismatch
    assert refusal(client.tools_feedback, {**feedback, "decision_id": nobody}) == missing
    assert refusal(client.rules_evaluate, {"context": "json"}) == (400, "invalid_request")
    other = {"context": {}, "tenant_id": str(UUID(int=7))}
    assert refusal(client.rules_evaluate, other) == (403, "identity_mismatch")


def test_override_needs_a_scope_and_a_reason(site: str, client: Any, acme: Account) -> None:
    [node] = client.write({"input_text": "said", "nodes": [NODE]})["data"]["nodes"]
    scopes = ("rules:read", "rules:write", "memory:write")
    plain = AionisClient(base_url=site, api_key=makers.key(acme, scopes)[1])
    may = AionisClient(base_url=site, api_key=makers.key(acme, (*scopes, "rules:override"))[1])
    state = {"rule_node_id": node["id"], "input_text": "an incident"}
    plain.rules_state({**state, "state": "shadow"})
    active = {**state, "state": "active"}
    assert refusal(plain.rules_state, active) == (409, "evidence_gate")
    wordless = {**active, "input_text": "", "input_sha256": "a" * 64}
    assert refusal(may.rules_state, wordless) == (409, "evidence_gate")
    assert may.rules_state(active)["data"]["state"] == "active"
    writer = AionisClient(base_url=site, api_key=makers.key(acme, ("memory:write",))[1])
    batch = {"input_text": "said", "nodes": [{**NODE, "client_id": "other"}]}
    assert refusal(writer.write, batch) == (403, "missing_scope")
    rated = {"rule_node_id": node["id"], "outcome": "negative", "input_text": "bad"}
    assert refusal(writer.feedback, rated) == (403, "missing_scope")
