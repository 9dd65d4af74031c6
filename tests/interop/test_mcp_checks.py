"""The MCP server under the published conformance suite, the inspector, and a failing database."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from django.db import DataError, OperationalError
from pytest_django import Settings
from starlette.types import Receive, Scope, Send

from interop import native_client
from interop.mcp.http_application import application
from interop.mcp.native_session import NativeSession
from interop.mcp.tools import BEHAVIOURS
from interop.native_client import NativeError
from kmapp.accounts.models import ApiKey
from tests.interop.conftest import NODE, NODE_PACKAGES
from tests.interop.test_mcp import post, serve

pytestmark = pytest.mark.usefixtures("module_commits")
EXPECTED_FAILURES = Path(__file__).parent / "conformance.yaml"
TOOL_ERROR = 5  # exit status of the inspector
UNKNOWN = "0190a7a0-0000-7000-8000-000000000000"


@pytest.fixture
def url(committed: str, settings: Settings, key: tuple[ApiKey, str]) -> Iterator[str]:
    """Serve MCP with a proxy that adds the key, because the suite sends no header."""
    settings.ALLOWED_HOSTS = ["127.0.0.1", "localhost"]
    inner = application()

    async def with_key(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            header = (b"authorization", f"Bearer {key[1]}".encode())
            scope = {**scope, "headers": [*scope["headers"], header]}
        await inner(scope, receive, send)

    with serve(with_key) as address:
        yield address


def run_node(program: str, *arguments: str, status: int = 0) -> str:
    command: list[str | Path] = [NODE, NODE_PACKAGES / "node_modules" / ".bin" / program]
    command += arguments
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == status, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


def test_there_is_no_stream_outside_of_calls(url: str) -> None:
    """A server that stops would wait for it."""
    answer = httpx2.get(url, headers={"Accept": "text/event-stream"})
    assert (answer.status_code, answer.headers["Allow"]) == (405, "POST")


def test_conformance(url: str, tmp_path: Path) -> None:
    options = ["--suite", "all", "--expected-failures", str(EXPECTED_FAILURES)]
    report = run_node("conformance", "server", "--url", url, *options, "-o", str(tmp_path))
    for scenario in ("server-initialize", "tools-list", "dns-rebinding-protection", "caching"):
        assert f"✓ {scenario}: " in report


def inspect(url: str, method: str, *arguments: str, status: int = 0) -> Any:
    options = ["--transport", "http", "--method", method]
    return json.loads(run_node("inspector", "--cli", url, *options, *arguments, status=status))


def call(url: str, tool: str, *, status: int = 0, **arguments: Any) -> Any:
    """Call a tool; return its structured content, or the whole result if it fails."""
    texts = [
        f"{name}={value if isinstance(value, str) else json.dumps(value)}"
        for name, value in arguments.items()
    ]
    options = [option for text in texts for option in ("--tool-arg", text)]
    result = inspect(url, "tools/call", "--tool-name", tool, *options, status=status)
    return result if status else result["structuredContent"]


def test_inspector_lists_and_calls_tools(url: str) -> None:
    tools = {tool["name"] for tool in inspect(url, "tools/list", "--strict")["tools"]}
    assert tools == set(BEHAVIOURS)
    memory = call(url, "memory_store", text="Ann likes tea.", user_id="ann")
    [hit] = call(url, "memory_search", query="tea", user_id="ann")["results"]
    assert hit["id"] == memory["id"]
    call(url, "tools_select", context={"intent": "json"}, candidates=["bash", "curl"])
    missing = call(url, "knowledge_get", status=TOOL_ERROR, id=UNKNOWN)
    assert "not_found" in missing["content"][0]["text"]


def test_request_whose_key_cannot_be_checked_gets_a_503(
    url: str, key: tuple[ApiKey, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: NativeSession) -> None:
        raise OperationalError("The database is away.")

    monkeypatch.setattr(NativeSession, "_authenticate", fail)
    answer = post(url, key[1])
    assert (answer.status_code, answer.json()["error"]) == (503, "unavailable")
    assert int(answer.headers["Retry-After"]) > 0


def test_pattern_in_allowed_hosts_permits_subdomains(
    url: str, key: tuple[ApiKey, str], settings: Settings
) -> None:
    settings.ALLOWED_HOSTS = [".example.org"]
    origin = "https://kb.example.org"
    assert post(url, key[1], Host="kb.example.org:8003", Origin=origin).status_code == 200
    assert post(url, key[1], Host="example.org").status_code == 200
    assert post(url, key[1], Host="example.org.evil.example").status_code == 421
    foreign = "https://example.org@evil.example"
    assert post(url, key[1], Host="example.org", Origin=foreign).status_code == 403
    assert post(url, key[1], Host="example.org", Origin="null").status_code == 403


def test_error_of_the_product_is_not_described_to_the_client(
    key: tuple[ApiKey, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise DataError("Failing row contains (secret).")

    monkeypatch.setattr(native_client, "call", fail)
    with pytest.raises(NativeError) as failed:
        anyio.run(NativeSession(key[1]).call, "POST", "/v1/memory/search", {"query": "tea"})
    body = failed.value.response.data
    assert (failed.value.response.status, body["error"]) == (500, "internal_error")
    assert "secret" not in body["message"]
