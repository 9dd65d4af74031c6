"""Matching rules in calls: instructions and removed tools."""

from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import pytest

from context.assembly.retrieval import RULES_MS
from kmapp.accounts.models import Account
from kmapp.providers.errors import ProviderTimeout
from tests.agent import Agent
from tests.context.builders import talk, tool
from tests.rules.builders import add_rule

TOOLS = [tool(name) for name in ("search", "pay", "mail")]
MESSAGES = [{"role": "user", "content": "I want my money back."}]
REFUND = {"intent": "refund"}


@pytest.fixture
def rules(acme: Account) -> dict[str, Any]:
    """Two active rules, one in shadow mode, one of another scope."""
    return {
        "no pay": add_rule(acme, "No pay", "active", when=REFUND, then={"tool": {"deny": ["pay"]}}),
        "as json": add_rule(
            acme,
            "Show JSON",
            "active",
            when={**REFUND, "agent_id": "bot"},
            then={"output": {"format": "json"}, "tool": {"prefer": ["pay", "mail"]}},
        ),
        "watches": add_rule(acme, "No mail", "shadow", when={}, then={"tool": {"deny": ["mail"]}}),
        "other": add_rule(
            acme, "Else", "active", when={}, then={"tool": {"deny": ["mail"]}}, scope="x"
        ),
    }


def assemble(agent: Agent, **more: Any) -> Any:
    body = {"messages": MESSAGES, "conversation_id": "c1", "language": "en", "tools": TOOLS}
    return agent.post("context/assemble", {**body, "sources": ["rules"], **more}, 201)


def test_matching_rules_are_applied_cited_and_counted(agent: Agent, rules: dict[str, Any]) -> None:
    answer = assemble(agent, rules_context=REFUND, agent_id="bot", scope="default")
    instructions = answer["messages"][-2]["content"]
    assert instructions.splitlines()[1:] == [
        '- output: {"format":"json"}',
        '- tool.prefer: ["mail"]',
    ]
    assert [each["function"]["name"] for each in answer["tools"]] == ["search", "mail"]
    cost = answer["context_cost"]
    [removed] = [each for each in cost["decisions"] if each["action"] == "bar_tools"]
    assert removed["tools"] == ["pay"]
    assert removed["tokens_before"] > removed["tokens_after"] > 0
    cited = {each["ref"] for each in cost["citations"] if each["kind"] == "rule"}
    assert cited == {str(rules[name].pk) for name in ("no pay", "as json")}
    [item] = [each for each in cost["items"] if each.get("name") == "rules"]
    assert item["tokens"] == cost["tail_tokens"] > 0
    tokens = cost["estimated_tokens"]
    assert tokens["total"] == sum(tokens[name] for name in tokens if name != "total")


def test_allow_list_with_none_of_the_offered_tools_leaves_none(agent: Agent, acme: Account) -> None:
    add_rule(acme, "Read only", "active", when={}, then={"tool": {"allow": ["read"]}})
    answer = assemble(agent)
    assert not answer.get("tools")
    [removed] = answer["context_cost"]["decisions"]
    assert (removed["action"], removed["tools"]) == ("bar_tools", ["mail", "pay", "search"])


def test_other_rules_cost_nothing(agent: Agent, rules: dict[str, Any]) -> None:
    cost = assemble(agent, rules_context={"intent": "question"})["context_cost"]
    assert (cost["tail_tokens"], cost["citations"], cost["decisions"]) == (0, [], [])


def test_results_that_make_room_for_long_rules_are_archived(agent: Agent, acme: Account) -> None:
    style = {"extensions": {"style": "kiln " * 3_000}}
    add_rule(acme, "Style", "active", when={}, then=style)
    messages = talk(4, characters=4_000)
    more = {"tools": [], "policy": {"prune": ["hard_clear"]}, "reserved_output_tokens": 200}
    answer = assemble(agent, messages=messages, context_window_tokens=6_200, **more)
    [cleared] = [
        text for each in answer["messages"] if "moved out" in (text := each["content"] or "")
    ]
    archive = cleared.split('uuid="')[1][:36]
    assert agent.get(f"tool-results/{archive}")["content"] == messages[2]["content"]


@pytest.mark.usefixtures("rules")
def test_shadow_rules_are_not_evaluated(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("rules.evaluation.matching._match_shadow")
    cost = assemble(agent, rules_context=REFUND)["context_cost"]
    assert [each["action"] for each in cost["decisions"]] == ["bar_tools"]


def test_rules_apply_in_their_scope_only(agent: Agent, rules: dict[str, Any]) -> None:
    answer = assemble(agent, rules_context=REFUND, scope="x")
    assert [each["function"]["name"] for each in answer["tools"]] == ["search", "pay"]


def test_embedder_takes_no_time_from_rules(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def note(name: str) -> Callable[..., None]:
        return lambda *_args: seen.append(name)

    names = ("lore", "rules", "memory", "knowledge")
    module = "context.assembly.retrieval"
    monkeypatch.setattr(f"{module}.SOURCES", {name: note(name) for name in names})
    monkeypatch.setattr(f"{module}.load_query_vector", note("meaning"))
    assemble(agent, sources=list(names))
    assert seen == ["rules", "lore", "meaning", "memory", "knowledge"]


@pytest.mark.usefixtures("rules")
@pytest.mark.parametrize(
    ("error", "action"),
    [(ProviderTimeout("Too slow."), "km_timeout"), (RuntimeError("no"), "retrieval_failed")],
    ids=["timeout", "failure"],
)
def test_no_tool_is_offered_without_the_rules(
    agent: Agent, monkeypatch: pytest.MonkeyPatch, error: Exception, action: str
) -> None:
    monkeypatch.setattr("context.assembly.retrieval.SOURCES", {"rules": Mock(side_effect=error)})
    answer = assemble(agent, required_tools=["search"])
    assert not answer.get("tools")
    failed, removed = answer["context_cost"]["decisions"]
    assert (failed["action"], failed["source"]) == (action, "rules")
    assert (removed["action"], removed["tools"]) == ("bar_tools", ["mail", "pay", "search"])


@pytest.mark.usefixtures("rules")
def test_rules_have_time_whatever_the_deadline(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("context.assembly.retrieval.MIN_MS", RULES_MS)
    more: dict[str, Any] = {"sources": ["lore", "rules"], "policy": {"retrieval_ms": 50}}
    answer = assemble(agent, rules_context=REFUND, **more)
    assert [each["function"]["name"] for each in answer["tools"]] == ["search", "mail"]
    skipped, removed = answer["context_cost"]["decisions"]
    assert (skipped["action"], skipped["source"]) == ("km_timeout", "lore")
    assert (removed["action"], removed["tools"]) == ("bar_tools", ["pay"])


def test_rejects_a_large_context_of_rules(agent: Agent) -> None:
    body = {"messages": MESSAGES, "rules_context": {"text": "x" * 64_001}}
    refused = agent.post("context/assemble", body, 400)
    assert "at most 64000 bytes" in str(refused["issues"])
