"""Rows that someone changed in the database are withheld from clients of LangGraph and MCP."""

import json

import pytest
from mcp import MCPError

from kmapp.accounts.models import Account
from tests import makers
from tests.agent import Agent
from tests.kernel.fsck.tampering import Intruder
from tests.sealed_reads import (
    EDITS,
    QUERY,
    call_mcp_tool,
    create_verifying_agent,
    edited,
    pop_mismatch_reasons,
    read_mcp_resource,
    read_store,
)

pytestmark = pytest.mark.usefixtures("module_commits")

TABLE = "memory_memoryentry"
TEXT = "The spare key of the workshop is in the blue box."
OWNER = {"user_id": "ana"}


@pytest.fixture
def agent(acme: Account) -> Agent:
    return create_verifying_agent(acme)


def test_changed_item_is_withheld_from_the_store_of_langgraph(
    acme: Account, agent: Agent, intruder: Intruder
) -> None:
    item = {"namespace": ["keys"], "key": "workshop", "value": {"text": TEXT}}
    assert agent.client.put("/store/items", item, format="json").status_code == 204
    [memory] = agent.post("memory/list", {"agent_id": "langgraph"}, 200)["results"]
    makers.settle()
    before = read_store(agent, "keys", "workshop")
    assert all(TEXT in json.dumps(before[name]) for name in ("item", "search", "list"))
    assert before["namespaces"] == [["keys"]]
    for edit in (EDITS[0], "slots = jsonb_set(slots, '{value,text}', '\"Sold.\"')"):
        with edited(intruder, TABLE, memory["id"], edit):
            answers = read_store(agent, "keys", "workshop")
            assert answers == {"item": None, "search": [], "list": [], "namespaces": []}, edit
    assert pop_mismatch_reasons(acme) == {memory["id"]: "changed"}


def test_changed_memory_is_withheld_from_tools_and_resources_of_mcp(
    acme: Account, agent: Agent, intruder: Intruder
) -> None:
    pk = agent.store(TEXT, **OWNER)
    makers.settle()
    uri = f"km://memory/{pk}"
    read = call_mcp_tool(agent, "memory_get", {"id": pk})
    assert (read.structured_content or {})["text"] == TEXT
    assert TEXT in str(read_mcp_resource(agent, uri))
    for edit in (EDITS[0], "title = 'Sold'"):
        with edited(intruder, TABLE, pk, edit):
            refused = call_mcp_tool(agent, "memory_get", {"id": pk})
            assert refused.is_error
            assert "(withheld)" in str(refused)
            with pytest.raises(MCPError, match=r"\(withheld\)"):
                read_mcp_resource(agent, uri)
            for name in ("memory_search", "memory_inject"):
                answer = call_mcp_tool(agent, name, {"query": QUERY, **OWNER}).structured_content
                assert (answer or {})["withheld"] == 1, (name, edit)
                assert pk not in json.dumps(answer), (name, edit)
    assert pop_mismatch_reasons(acme) == {pk: "changed"}
