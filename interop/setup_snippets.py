"""Snippets that connect a client, for the page of the same purpose."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from django.conf import settings
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _


@dataclass(frozen=True, slots=True)
class SetupSnippet:
    """A block to copy, and where it goes."""

    label: str | Promise
    text: str


@dataclass(frozen=True, slots=True)
class Addresses:
    """URLs of the product as the browser sees them; `mcp` is empty if no MCP server runs."""

    api: str
    mcp: str


@dataclass(frozen=True, slots=True)
class ConnectableClient:
    """A client, and its snippets for the given addresses and key."""

    name: str
    label: str
    snippets: Callable[[Addresses, str], list[SetupSnippet]]


def _mcp(addresses: Addresses, key: str) -> list[SetupSnippet]:
    header = f"Bearer {key}"
    server = {"url": addresses.mcp, "headers": {"Authorization": header}}
    command = (
        f'claude mcp add --transport http kmapp {addresses.mcp} --header "Authorization: {header}"'
    )
    python, manage = (str(settings.BASE_DIR / name) for name in (".venv/bin/python", "manage.py"))
    command_line = ["kmapp"] if settings.IS_INSTALLED else [python, manage]
    stdio = {
        "command": command_line[0],
        "args": [*command_line[1:], "mcp"],
        "env": {"KMAPP_API_KEY": key},
    }
    continue_yaml = (
        "mcpServers:\n  - name: kmapp\n    type: streamable-http\n"
        f"    url: {addresses.mcp}\n    requestOptions:\n      headers:\n"
        f"        Authorization: {header}\n"
    )
    local = SetupSnippet(_("Standard input and output"), _json({"mcpServers": {"kmapp": stdio}}))
    if not addresses.mcp:
        return [local]
    return [
        SetupSnippet("Claude Code", command),
        SetupSnippet("Cursor (.cursor/mcp.json)", _json({"mcpServers": {"kmapp": server}})),
        SetupSnippet(
            "VS Code (.vscode/mcp.json)", _json({"servers": {"kmapp": {"type": "http", **server}}})
        ),
        SetupSnippet("Continue (.continue/mcpServers/kmapp.yaml)", continue_yaml),
        local,
    ]


def _python(addresses: Addresses, key: str) -> list[SetupSnippet]:
    code = f'''from kmapp_client import Client

with Client("{addresses.api}", api_key="{key}") as kmapp:
    kmapp.store("Mira prefers e-mail to phone calls.", user_id="mira")
    print(kmapp.search("How to contact Mira?", user_id="mira"))
'''
    install = SetupSnippet(_("Install (in a checkout of kmapp)"), "pip install clients/python")
    return [install, SetupSnippet("Python", code)]


def _mem0(addresses: Addresses, key: str) -> list[SetupSnippet]:
    python = f'''from mem0 import MemoryClient

client = MemoryClient(api_key="{key}", host="{addresses.api}")
client.add("Mira prefers e-mail to phone calls.", user_id="mira", infer=False)
print(client.search("How to contact Mira?", filters={{"user_id": "mira"}}))
'''
    script = f"""import MemoryClient from "mem0ai";

const client = new MemoryClient({{ apiKey: "{key}", host: "{addresses.api}" }});
console.log(await client.search("How to contact Mira?", {{ filters: {{ user_id: "mira" }} }}));
"""
    return [SetupSnippet("Python", python), SetupSnippet("JavaScript", script)]


def _hindsight(addresses: Addresses, key: str) -> list[SetupSnippet]:
    code = f'''from hindsight_client import Hindsight

with Hindsight(base_url="{addresses.api}", api_key="{key}") as client:
    client.retain(bank_id="assistant", content="Mira prefers e-mail to phone calls.")
    print(client.recall(bank_id="assistant", query="How to contact Mira?"))
'''
    return [SetupSnippet("Python", code)]


def _langgraph(addresses: Addresses, key: str) -> list[SetupSnippet]:
    code = f'''from langgraph_sdk import get_sync_client

store = get_sync_client(url="{addresses.api}", api_key="{key}").store
store.put_item(["users", "mira"], key="contact", value={{"text": "Mira prefers e-mail."}})
print(store.search_items(["users"], query="How to contact Mira?"))
'''
    return [SetupSnippet("Python", code)]


def _curl(addresses: Addresses, key: str) -> list[SetupSnippet]:
    def command(path: str, body: Mapping[str, str]) -> str:
        return (
            f"curl -s {addresses.api}{path} -H 'Authorization: Bearer {key}' \\\n"
            f"  -H 'Content-Type: application/json' \\\n  -d '{json.dumps(body)}'"
        )

    store = {"text": "Mira prefers e-mail to phone calls.", "user_id": "mira"}
    search = {"query": "How to contact Mira?", "user_id": "mira"}
    return [
        SetupSnippet(_("Store a memory"), command("/v1/memory/store", store)),
        SetupSnippet(_("Search"), command("/v1/memory/search", search)),
    ]


CLIENTS = (
    ConnectableClient("mcp", "MCP", _mcp),
    ConnectableClient("python", "Python", _python),
    ConnectableClient("mem0", "mem0", _mem0),
    ConnectableClient("hindsight", "Hindsight", _hindsight),
    ConnectableClient("langgraph", "LangGraph", _langgraph),
    ConnectableClient("curl", "curl", _curl),
)


def find_client(name: str) -> ConnectableClient:
    """Return the client of this name, or the first one."""
    return next((client for client in CLIENTS if client.name == name), CLIENTS[0])


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)
