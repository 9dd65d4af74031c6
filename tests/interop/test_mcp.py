"""The MCP server, over both transports, with the official client."""

import hashlib
import json
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import anyio
import httpx2
import pytest
import uvicorn
from django.core.cache import cache
from django.core.management import CommandError, call_command
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from pytest_django import Settings
from rest_framework.settings import api_settings
from starlette.types import ASGIApp

from interop import native_client
from interop.mcp import native_session
from interop.mcp.http_application import application
from interop.mcp.tools import BEHAVIOURS, all_tools
from kmapp.accounts.models import Account, ApiKey
from kmapp.settings import BASE_DIR
from knowledge.models import KnowledgeChunk
from tests import makers
from tests.interop.conftest import Run
from tests.kernel.test_api_routes import VIEWS
from tests.knowledge.builders import deliver

pytestmark = pytest.mark.usefixtures("module_commits")


@contextmanager
def serve(app: ASGIApp) -> Iterator[str]:
    """Serve MCP on a free port."""
    server = uvicorn.Server(
        uvicorn.Config(app, log_level="error", lifespan="on", proxy_headers=False)
    )
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
        server.should_exit = True
        thread.join()


@pytest.fixture
def mcp_url(committed: str, settings: Settings) -> Iterator[str]:
    """Serve MCP for the host name 127.0.0.1 only."""
    settings.ALLOWED_HOSTS = ["127.0.0.1"]
    with serve(application()) as url:
        yield url


def check_session(seen: dict[str, Any]) -> None:
    assert set(seen["tools"]) == {*seen["called"], "knowledge_get"} == set(BEHAVIOURS)
    search = seen["tools"]["memory_search"]
    assert search["annotations"]["readOnlyHint"] is True
    assert search["inputSchema"]["required"] == ["query"]
    assert search["inputSchema"]["additionalProperties"] is False
    assert seen["tools"]["memory_forget"]["annotations"]["destructiveHint"] is True
    assert seen["found"] == ["Ann is allergic to peanuts."]
    assert seen["got"] == seen["read"] == "Ann is allergic to peanuts."
    assert len(seen["templates"]) == 5
    assert seen["prompts"] == ["assemble_context"]
    assert "allergic to peanuts" in "".join(seen["prompt"])
    assert seen["archived"] is seen["loaded"] is True
    assert seen["updated"] == "Ann may eat no nuts at all."
    assert "no nuts" in seen["injected"]
    assert (seen["knowledge"], seen["rules"]) == ([], 0)
    assert seen["selected"] == ["bash", "search"]
    assert seen["forgotten"] == "forgotten"
    failed, message = seen["errors"]["bad_argument"]
    start = "Unknown arguments: colour. This tool has the arguments query, "
    assert failed is True
    assert message.startswith(start)
    assert "user_id" in message
    assert "not_found" in seen["errors"]["missing"][1]
    assert "text" in seen["errors"]["blank"][1]
    assert "no resource" in seen["errors"]["resource"][1]


def test_every_tool_has_annotations_and_an_output_schema() -> None:
    assert {tool.name for tool in all_tools()} == set(BEHAVIOURS)


def test_every_tool_needs_the_scope_of_its_endpoint() -> None:
    for tool in all_tools():
        assert VIEWS[tool.path.strip("/")].scopes["POST"] is tool.scope, tool.name


def test_http_session(run_client: Run, mcp_url: str) -> None:
    check_session(run_client("mcp_client.py", url=mcp_url))


INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


def post(url: str, key: str, body: Any = INITIALIZE, **headers: str) -> httpx2.Response:
    accept = {"Accept": "application/json, text/event-stream", "Authorization": f"Bearer {key}"}
    return httpx2.post(url, json=body, headers=accept | headers)


def test_refuses_requests_without_a_valid_key(mcp_url: str, key: tuple[ApiKey, str]) -> None:
    for headers in ({}, {"Authorization": "Bearer km_00000000_nothing"}):
        answer = httpx2.post(mcp_url, json=INITIALIZE, headers=headers)
        assert answer.status_code == 401
        assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    assert post(mcp_url, key[1]).status_code == 200


@pytest.mark.parametrize(("proxies", "refused"), [(0, 1), (1, 2)])
def test_limits_invalid_keys_by_address(
    mcp_url: str,
    key: tuple[ApiKey, str],
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    proxies: int,
    refused: int,
) -> None:
    """Only the last NUM_PROXIES addresses of X-Forwarded-For come from proxies."""
    cache.clear()
    settings.THROTTLES = {**settings.THROTTLES, "anonymous": 1}
    monkeypatch.setattr(api_settings, "NUM_PROXIES", proxies)
    sent = [{"X-Forwarded-For": f"6.6.6.{number}, 10.0.0.{number % 2}"} for number in range(6)]
    answers = [post(mcp_url, "km_00000000_nothing", **headers) for headers in sent]
    assert [answer.status_code for answer in answers] == [401] * refused + [429] * (6 - refused)
    assert answers[-1].json()["error"] == "rate_limited_anonymous"
    assert int(answers[-1].headers["Retry-After"]) > 0
    assert post(mcp_url, key[1]).status_code == 200
    cache.clear()


def test_redirects_keep_the_scheme_of_the_proxy(
    mcp_url: str, key: tuple[ApiKey, str], settings: Settings
) -> None:
    settings.BEHIND_TLS = True
    answer = post(f"{mcp_url}/", key[1])
    assert answer.headers["Location"] == mcp_url.replace("http:", "https:")


def test_refuses_other_hosts_and_origins(mcp_url: str, key: tuple[ApiKey, str]) -> None:
    assert post(mcp_url, key[1], Origin="https://evil.example").status_code == 403
    assert post(mcp_url, key[1], Host="evil.example").status_code == 421
    assert post(mcp_url, key[1], Origin=mcp_url.removesuffix("/mcp")).status_code == 200


def test_refuses_large_and_malformed_bodies(mcp_url: str, key: tuple[ApiKey, str]) -> None:
    assert post(mcp_url, key[1], {**INITIALIZE, "x": "y" * 4_000_000}).status_code == 413
    assert post(mcp_url, key[1], {"jsonrpc": "2.0"}).status_code == 400


@pytest.fixture
def blocked_calls(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Hold every native call until the event is set."""
    release, call = threading.Event(), native_client.call

    def wait_and_call(*arguments: Any) -> native_client.NativeResponse:
        assert release.wait(30)
        return call(*arguments)

    monkeypatch.setattr(native_client, "call", wait_and_call)
    yield release
    release.set()


def test_reports_the_progress_of_a_long_call(
    mcp_url: str,
    key: tuple[ApiKey, str],
    blocked_calls: threading.Event,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(native_session, "PROGRESS_SECONDS", 0.01)
    seconds = []

    async def release(progress: float, total: float | None, message: str | None) -> None:
        seconds.append(progress)
        if len(seconds) == 3:
            blocked_calls.set()

    async def search() -> bool:
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {key[1]}"}) as http,
            Client(streamable_http_client(mcp_url, http_client=http)) as client,
        ):
            results = await client.call_tool(
                "memory_search", {"query": "tea"}, progress_callback=release
            )
        return not results.is_error

    assert anyio.run(search)
    assert seconds[:3] == pytest.approx([0.01, 0.02, 0.03])


def test_a_cancelled_call_returns_at_once(
    key: tuple[ApiKey, str], blocked_calls: threading.Event
) -> None:
    async def cancel() -> bool:
        with anyio.move_on_after(0.05) as scope:
            await native_session.NativeSession(key[1]).call(
                "POST", "memory/search", {"query": "tea"}
            )
        return scope.cancelled_caught

    assert anyio.run(cancel)
    assert not blocked_calls.is_set()


async def follow_citations(url: str, key: str) -> list[str]:
    """Return the text of a memory and that of a passage, by resource and by tool."""
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        stored = await client.call_tool("memory_store", {"text": "Ann likes tea.", "user_id": "a"})
        search = await client.call_tool("knowledge_search", {"query": "tea of the hill"})
        assert stored.structured_content
        assert search.structured_content
        [passage] = search.structured_content["results"]
        [citation] = passage["citations"]
        reads = [
            await client.read_resource(uri)
            for uri in (stored.structured_content["uri"], citation["uri"])
        ]
        quoted = await client.call_tool("knowledge_get", {"uri": citation["uri"]})
        assert quoted.structured_content
        texts = [json.loads(getattr(each.contents[0], "text", ""))["text"] for each in reads]
        return [*texts, quoted.structured_content["text"], passage["text"]]


def test_citations_lead_to_whole_passages(
    mcp_url: str, acme: Account, key: tuple[ApiKey, str]
) -> None:
    hill = "The tea of the hill is picked by hand. " * 60
    deliver(acme, {"hill.md": f"# Hill\n\n{hill}"})
    memory, read, quoted, shown = anyio.run(follow_citations, mcp_url, key[1])
    assert makers.count(KnowledgeChunk, acme) > 1
    assert memory == "Ann likes tea."
    assert read == quoted == shown
    assert len(shown) > len(hill) - 2


def test_uri_of_another_account_is_not_resolved(
    mcp_url: str, acme: Account, rival: Account, key: tuple[ApiKey, str]
) -> None:
    result = deliver(rival, {"secret.md": "# Secret"})
    sha256 = hashlib.sha256(b"# Secret").hexdigest()
    [memory] = makers.write(rival, "Secret.")
    for uri in (
        f"kmapp://knowledge/{result.documents[0].pk}#0-8@{sha256}",
        f"km://{rival.pk}/default/fact/{memory.pk}",
        f"km://{acme.pk}/default/fact/{memory.pk}",
    ):
        body = {"jsonrpc": "2.0", "id": 2, "method": "resources/read", "params": {"uri": uri}}
        answer = post(mcp_url, key[1], body).text
        assert "not_found" in answer, answer
        assert "Secret" not in answer


def list_tool_names(url: str, key: str) -> set[str]:
    answer = post(url, key, {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}})
    [line] = [line for line in answer.text.splitlines() if line.startswith("data: {")]
    return {tool["name"] for tool in json.loads(line.removeprefix("data: "))["result"]["tools"]}


def test_lists_only_tools_that_the_key_may_use(mcp_url: str, reader: str) -> None:
    assert list_tool_names(mcp_url, reader) == {"memory_search", "memory_get", "memory_inject"}


def test_stdio_without_a_key_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KMAPP_API_KEY", "")
    with pytest.raises(CommandError, match="Set KMAPP_API_KEY"):
        call_command("mcp")
    assert capsys.readouterr().out == ""


def test_stdio_session(run_client: Run) -> None:
    command = [sys.executable, str(BASE_DIR / "manage.py"), "mcp"]
    check_session(run_client("mcp_client.py", "stdio", *command))
