"""The tools that agents are offered pass OpenAI's strict mode, and do what they say."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from kmapp.accounts.models import Account
from tests import makers
from tests.agent import Agent

ALLOWED = {"type", "description", "enum", "items", "properties", "required", "additionalProperties"}


def strict(schema: Any) -> None:
    """The rules of strict mode, as OpenAI's documentation gives them."""
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


def test_memory_tools_accept_null_for_optional_fields(agent: Agent) -> None:
    offered = agent.get("agent-tools")
    functions = {tool["function"]["name"]: tool["function"] for tool in offered["tools"]}

    def call(name: str, **said: Any) -> Any:
        known = functions[name]["parameters"]["properties"]
        body = dict.fromkeys(known) | said
        return agent.post(offered["paths"][name].removeprefix("/v1/"), body)

    stored = call("memory_store", text="Bea likes plums.", user_id="u")
    assert call("memory_search", query="plums", user_id="u")["results"][0]["id"] == stored["id"]
    assert call("memory_update", id=stored["id"], text="Bea likes figs.")["version"] == 2
    assert call("memory_get", id=stored["id"])["text"] == "Bea likes figs."
    assert call("memory_forget", id=stored["id"])["status"] == "forgotten"


@pytest.mark.parametrize(("scopes", "count"), [(["memory:read"], 2), (["memory:write"], 0)])
def test_tools_depend_on_key_scopes(acme: Account, scopes: list[str], count: int) -> None:
    _, secret = makers.key(acme, scopes)
    client = APIClient(headers={"authorization": f"Bearer {secret}"})
    answer = client.get("/v1/agent-tools")
    assert answer.status_code == (200 if count else 403)
    if count:
        names = [tool["function"]["name"] for tool in answer.json()["tools"]]
        assert sum(name.startswith("memory_") for name in names) == count
