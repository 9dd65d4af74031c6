"""Edits of sealed rows, and every way in which agents read them."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import anyio
from mcp import types

from interop.mcp.native_session import NativeSession
from interop.mcp.server import McpServer
from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.ledger.models import Mismatch
from tests import makers
from tests.agent import Agent
from tests.kernel.fsck.tampering import Intruder

QUERY = "Where is the spare key of the workshop?"


def create_verifying_agent(account: Account) -> Agent:
    """Let the account verify rows on read; return an agent for its memories."""
    makers.set_policy(account, {"verify_on_read": True})
    return makers.agent(account, ["memory:read", "memory:write"])


@contextmanager
def edited(intruder: Intruder, table: str, pk: Any, assignment: str) -> Iterator[None]:
    """Change a row for the time of the block, as a superuser with triggers off."""
    intruder.run(f"CREATE TEMP TABLE saved AS SELECT * FROM {table} WHERE id = %s", pk)  # noqa: S608
    changed = intruder.run(f"UPDATE {table} SET {assignment} WHERE id = %s", pk)  # noqa: S608
    assert changed.rowcount == 1
    try:
        yield
    finally:
        intruder.run(f"DELETE FROM {table} WHERE id = %s", pk)  # noqa: S608
        intruder.run(f"INSERT INTO {table} SELECT * FROM saved")  # noqa: S608
        intruder.run("DROP TABLE saved")


def read(agent: Agent, pk: Any, ids: Mapping[str, str], status: int = 404) -> dict[str, Any]:
    """Return the answer of each endpoint that loads memories in its own way."""
    return {
        "search": agent.post("memory/search", {"query": QUERY, **ids}, 200),
        "list": agent.post("memory/list", dict(ids), 200),
        "get": agent.post("memory/get", {"id": str(pk), **ids}, status),
        "history": agent.get(f"memory/{pk}/history", status, **ids),
    }


def read_everywhere(
    agent: Agent, pk: Any, ids: Mapping[str, str], status: int = 404
) -> dict[str, Any]:
    """Return the answer of each endpoint that returns memories."""
    query = {"query": QUERY, **ids}
    messages = [{"role": "user", "content": QUERY}]
    return {
        **read(agent, pk, ids, status),
        "recall": agent.post("memory/recall_text", query, 200),
        "inject": agent.post("memory/inject", query, 200),
        "assemble": agent.post("context/assemble", {"messages": messages, **ids}, 201),
        "mem0": agent.client.post("/v3/memories", {"filters": {**ids}}, format="json").json(),
        "mcp search": call_mcp_tool(agent, "memory_search", query).structured_content,
        "mcp inject": call_mcp_tool(agent, "memory_inject", query).structured_content,
    }


def build_mcp_server(agent: Agent) -> McpServer:
    """Return the MCP server for the key of this agent."""
    key = agent.client.defaults["HTTP_AUTHORIZATION"].removeprefix("Bearer ")
    return McpServer(lambda _context: NativeSession(key))


def call_mcp_tool(agent: Agent, name: str, arguments: Mapping[str, Any]) -> types.CallToolResult:
    """Call a tool of the MCP server without a transport, and report no progress."""
    context: Any = SimpleNamespace(session=SimpleNamespace(report_progress=None))
    params = types.CallToolRequestParams(name=name, arguments=dict(arguments))
    return anyio.run(build_mcp_server(agent).call_tool, context, params)


def read_mcp_resource(agent: Agent, uri: str) -> types.ReadResourceResult:
    """Read a resource of the MCP server without a transport."""
    context: Any = SimpleNamespace()
    params = types.ReadResourceRequestParams(uri=uri)
    return anyio.run(build_mcp_server(agent).read_resource, context, params)


def read_store(agent: Agent, namespace: str, key: str) -> dict[str, Any]:
    """Return the answers of LangGraph's store about the items of a namespace with this item."""
    search = {"namespace_prefix": [namespace]}

    def post(path: str, body: Mapping[str, Any]) -> Any:
        return agent.client.post(f"/store/{path}", body, format="json").json()

    return {
        "item": agent.client.get("/store/items", {"namespace": namespace, "key": key}).json(),
        "search": post("items/search", {**search, "query": QUERY})["items"],
        "list": post("items/search", search)["items"],
        "namespaces": post("namespaces", {})["namespaces"],
    }


def read_bank(agent: Agent, bank: str) -> dict[str, Any]:
    """Return the answers of Hindsight about a bank with one entity."""
    path = f"default/banks/{bank}"
    entities = agent.get(f"{path}/entities", 200)
    [entity] = entities["items"]
    return {
        "list": agent.get(f"{path}/memories/list", 200),
        "entities": entities,
        "entity": agent.get(f"{path}/entities/{entity['id']}", 200),
    }


def pop_mismatch_reasons(account: Account) -> dict[str, str]:
    """Return the stored mismatches by object, and delete them."""
    results = {str(row.object_id): row.reason for row in makers.rows(Mismatch, account)}
    with acting(account):
        Mismatch.objects.of(account).delete()
    return results


def assert_withheld(answers: dict[str, Any], pk: Any, *texts: str) -> None:
    for name, answer in answers.items():
        body = json.dumps(answer)
        assert answer.get("withheld") == 1, (name, body)
        assert not any(text in body for text in texts), (name, body)
        assert name in ("get", "history") or str(pk) not in body, (name, body)


# One edit for every sealed column of a memory, except those that name another memory, and `status`,
# whose edits have tests of their own. After each edit, the memory would still be visible.
UNEDITED = {"id", "account_id", "status"}
EDITS = (
    "content = 'The spare key of the workshop was sold.'",
    "title = 'Spare key of the workshop'",
    'slots = \'{"speaker": "boss"}\'',
    "user_id = 'bob'",
    "visibility = 'account'",
    "agent_id = 'other'",
    "observed_at = observed_at + interval '1 microsecond'",
    "created_at = created_at - interval '1 day'",
    "updated_at = now()",
    "valid_from = now() - interval '1 hour'",
    "expires_at = now() + interval '1 hour'",
    "position = position + 1",
    "version = version + 1",
    "importance = 0.9",
    "tags = '{trusted}'",
    'sources = \'[{"title": "Contract"}]\'',
    "kind = 'procedure'",
    "created_by = 'system'",
    "scope = 'other'",
    "client_id = 'other'",
    "written_in = gen_random_uuid()",
    "written_sha256 = repeat('a', 64)",
    "app_id = 'other'",
    "run_id = 'other'",
    "entities = '{Cellar}'",
    "raw_ref = 'other'",
    "evidence_ref = 'other'",
    "flags = '{instructions}'",
    "confidence = 0.9",
    "salience = 0.9",
    "half_life_days = 30",
    "tier = 'warm'",
    "pinned = true",
    "valid_to = now() + interval '1 hour'",
)
