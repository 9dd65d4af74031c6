"""A faulty network between an agent and the MCP server."""

import json
import time
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from pytest_django import Settings

from interop.mcp.http_application import application
from kmapp.accounts.models import Account, ApiKey
from kmapp.runtime.processes import wait_until
from memory.models import MemoryEntry
from tests import makers
from tests.chaos.proxy import BREAKING, PATIENCE, SERVICE_FAULTS, Fault, Proxy, choose_deadline
from tests.interop.test_mcp import serve

pytestmark = [pytest.mark.usefixtures("module_commits"), pytest.mark.promise(41)]
MOST = 15.0  # seconds of a call during a fault
TEXT = "Ann likes tea."
# The response begins before the call, which would be cancelled without it: cut its body.
FAULTS = {**SERVICE_FAULTS, "truncation": Fault(truncate_after=600)}


@pytest.fixture
def link(committed: str, settings: Settings) -> Iterator[Proxy]:
    settings.ALLOWED_HOSTS = ["127.0.0.1"]
    with serve(application()) as url, Proxy(int(httpx2.URL(url).port or 0)).serving() as proxy:
        yield proxy


def store(link: Proxy, key: str, timeout: float) -> Any:
    """Store a memory by a tool call; return the memory."""
    arguments = {"text": TEXT, "user_id": "ann"}
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "memory_store", "arguments": arguments},
    }
    headers = {
        "Accept": "application/json, text/event-stream",
        "Authorization": f"Bearer {key}",
    }
    url = f"http://127.0.0.1:{link.port}/mcp"
    answer = httpx2.post(url, json=body, headers=headers, timeout=timeout)
    assert answer.status_code == 200, answer.text
    [line] = [line for line in answer.text.splitlines() if line.startswith("data: {")]
    return json.loads(line.removeprefix("data: "))["result"]["structuredContent"]


@pytest.mark.parametrize("fault", FAULTS)
def test_repeated_tool_call_stores_one_memory(
    link: Proxy, acme: Account, key: tuple[ApiKey, str], fault: str
) -> None:
    link.become(FAULTS[fault])
    began = time.monotonic()
    if fault in BREAKING:
        with pytest.raises(httpx2.TransportError):
            store(link, key[1], choose_deadline(fault))
    else:
        assert store(link, key[1], choose_deadline(fault))["text"] == TEXT
    assert time.monotonic() - began < MOST
    if fault == "truncation":  # only the response is lost
        assert wait_until(lambda: makers.count(MemoryEntry, acme) == 1, PATIENCE)
    link.recover()
    stored = store(link, key[1], PATIENCE)
    assert [str(each.pk) for each in makers.rows(MemoryEntry, acme)] == [stored["id"]]
    assert stored["text"] == TEXT
