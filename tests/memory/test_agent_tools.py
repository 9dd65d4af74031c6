"""Tools for agents in strict mode, and the loop of docs/agent-loop.md."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from pytest_django import Settings

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account, ApiKey
from kmapp.api.models import IdempotentRequest
from tests import makers
from tests.agent import Agent
from tests.fake_provider import FakeProvider
from tests.memory.chat_model import RequestBody, configure_chat, current_memories, run_due_jobs
from tests.web.browser import served

ALLOWED = {"type", "description", "enum", "items", "properties", "required", "additionalProperties"}


def strict(schema: Any) -> None:
    """Check the rules of OpenAI's strict mode."""
    assert set(schema) <= ALLOWED
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    assert set(kinds) <= {"object", "string", "integer", "number", "boolean", "array", "null"}
    if "enum" in schema:
        assert ("null" in kinds) == (None in schema["enum"])
    if "object" in kinds:
        assert schema["additionalProperties"] is False
        assert set(schema["required"]) == set(schema["properties"])
        for each in schema["properties"].values():
            strict(each)
    if "array" in kinds:
        strict(schema["items"])


def test_every_tool_schema_is_strict(agent: Agent) -> None:
    offered = agent.get("agent-tools")
    for tool in offered["tools"]:
        function = tool["function"]
        assert tool["type"] == "function"
        assert function["strict"] is True
        assert function["description"]
        strict(function["parameters"])
    names = {tool["function"]["name"] for tool in offered["tools"]}
    memory = {f"memory_{verb}" for verb in ("search", "store", "update", "forget", "get")}
    assert memory <= names
    assert offered["paths"].keys() == names
    assert offered["paths"]["load_tool_history"] == "/v1/tool-results/load"


def test_memory_tools_accept_null_for_optional_fields(agent: Agent) -> None:
    offered = agent.get("agent-tools")
    functions = {tool["function"]["name"]: tool["function"] for tool in offered["tools"]}

    def call(name: str, **text: Any) -> Any:
        existing = functions[name]["parameters"]["properties"]
        body = dict.fromkeys(existing) | text
        return agent.post(offered["paths"][name].removeprefix("/v1/"), body)

    stored = call("memory_store", text="Bea likes plums.", user_id="u")
    assert call("memory_search", query="plums", user_id="u")["results"][0]["id"] == stored["id"]
    assert call("memory_update", id=stored["id"], text="Bea likes figs.")["version"] == 2
    assert call("memory_get", id=stored["id"])["text"] == "Bea likes figs."
    assert call("memory_forget", id=stored["id"])["status"] == "forgotten"


SCOPES: dict[str, set[str]] = {
    "memory:read": {"memory_search", "memory_get"},
    "memory:write": {"memory_store", "memory_update", "memory_forget"},
    "knowledge:read": {"knowledge_search", "knowledge_get"},
    "context:read": {"load_tool_history"},
    "rules:write": set(),
}


def test_tools_depend_on_key_scopes(acme: Account) -> None:
    for scope, names in SCOPES.items():
        offered = makers.agent(acme, [scope]).get("agent-tools", 200)
        assert {tool["function"]["name"] for tool in offered["tools"]} == names, scope
    makers.agent(acme, ["strict"]).get("agent-tools", 403)  # neither reads nor writes


PAGE = Path(django_settings.BASE_DIR) / "docs" / "agent-loop.md"
WORTH = {
    "should_store": True,
    "reasoning": "It is how Mira eats.",
    "memories": [
        {"type": "preference", "content": "Mira eats no meat", "importance": 0.9, "tags": ["food"]}
    ],
}


def reply(body: RequestBody) -> str:
    """Return the assistant's answer, or the memories worth storing if a worker asks for them."""
    return json.dumps(WORTH) if body.get("response_format") else "A table without meat is booked."


def test_documented_loop_recalls_the_previous_task(
    committed: str,
    agent: Agent,
    acme: Account,
    key: tuple[ApiKey, str],
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    [code] = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len([line for line in code.splitlines() if line.strip()]) <= 30
    with FakeProvider().serving() as chat, served() as address:
        configure_chat(settings, chat)
        chat.become(reply=reply)
        for name, value in {
            "KMAPP_URL": address,
            "KMAPP_KEY": key[1],
            "OPENAI_BASE_URL": chat.url,
            "OPENAI_API_KEY": "key",
            "CHAT_MODEL": "talker",
        }.items():
            monkeypatch.setenv(name, value)
        loop: dict[str, Any] = {}
        exec(compile(code, str(PAGE), "exec"), loop)  # noqa: S102 - the page is ours
        try:
            result = "A table without meat is booked."
            assert loop["work"]("Book a table for Mira.", user_id="mira") == result
            run_due_jobs()
            assert current_memories(acme) == {"Mira eats no meat": "preference"}
            loop["work"]("What meat does Mira eat?", user_id="mira")
            loop["work"]("What meat does Bob eat?", user_id="bob")
            assert loop["work"]("Translate this. " + "word " * 12_000, user_id="zed") == result
        finally:
            loop["kmapp"].close()
            loop["model"].close()
        query = [each for each in chat.seen if "messages" in each and "response_format" not in each]
        with acting(acme.pk):
            assert IdempotentRequest.objects.of(acme.pk).count() == len(query)
    first, second, other, _ = (json.dumps(each["messages"]) for each in query)
    assert "Mira eats no meat" in second
    assert "Mira eats no meat" not in first
    assert "Mira eats no meat" not in other
