"""The Python client against a running server, and against one that fails."""

import asyncio
import json
import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from kmapp_client import (
    AsyncClient,
    Client,
    ConnectionFailed,
    Forbidden,
    InvalidRequest,
    NotFound,
    RateLimited,
    Retry,
    ServerError,
    Unauthorized,
)

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account, ApiKey
from memory.models import MemoryEntry

pytestmark = pytest.mark.usefixtures("module_commits")
QUICK = Retry(first_delay=0.001)
UNKNOWN = "0190a7a0-0000-7000-8000-000000000000"
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}")


@pytest.fixture
def client(site: str, key: tuple[ApiKey, str]) -> Iterator[Client]:
    with Client(site, key[1]) as connected:
        yield connected


def test_memories_from_store_to_forget(client: Client) -> None:
    stored = client.store("Mira prefers e-mail.", user_id="mira", kind="preference")
    assert client.search("e-mail", user_id="mira")[0]["text"] == "Mira prefers e-mail."
    assert client.inject("e-mail", user_id="mira")["has_relevant"]
    assert client.update(stored["id"], text="Mira prefers letters.")["version"] == 2
    assert client.get(stored["id"])["text"] == "Mira prefers letters."
    assert client.rate(stored["id"], "positive", "It helped.")["outcome"] == "positive"
    assert client.forget(stored["id"])["status"] == "forgotten"
    added = client.add("I play the cello.", user_id="mira")
    assert client.event(added["event_id"])["status"] == "PENDING"
    assert client.health()["status"]
    assert client.request("GET", "/v1/version")["version"]


def test_an_update_removes_the_end_of_recall(client: Client) -> None:
    stored = client.store("A pass.", user_id="zed", expires_at="2999-01-01T00:00:00Z")
    changed = client.update(stored["id"], expires_at=None, title=None)
    assert (changed["expires_at"], changed["version"]) == (None, 2)


def test_lists_are_iterators_over_all_pages(client: Client) -> None:
    for number in range(5):
        client.store(f"Note {number}.", user_id="mira")
    list_results = list(client.list_memories(user_id="mira", limit=2))
    assert [memory["text"] for memory in list_results] == [f"Note {n}." for n in (4, 3, 2, 1, 0)]


def test_an_agent_loop_archives_and_loads_a_long_result(client: Client) -> None:
    long_result = "A page about tea. " * 2000
    placeholder = client.archive("crawl", long_result, conversation_id="c1")
    assert len(placeholder) < 2000
    call = client.assemble([{"role": "user", "content": "What is on the page?"}], run_id="c1")
    assert call["messages"]
    uuid = UUID.findall(placeholder)[0]
    function = {"name": "load_tool_history", "arguments": json.dumps({"uuid": uuid, "query": None})}
    bad = {"name": "load_tool_history", "arguments": json.dumps({"uuid": UNKNOWN})}
    other = {"name": "search", "arguments": "{}"}
    calls = [{"id": str(n), "function": each} for n, each in enumerate((function, bad, other))]
    message = {"role": "assistant", "tool_calls": calls}
    loaded, failed = client.answer_load_calls(message, conversation_id="c1")
    assert loaded["tool_call_id"] == "0"
    assert loaded["content"].strip() == long_result.strip()
    assert failed["content"].startswith("Error: ")
    [other_run, _] = client.answer_load_calls(message, conversation_id="c2")
    assert other_run["content"].startswith("Error: ")


def test_rules_and_knowledge(client: Client) -> None:
    assert client.evaluate_rules({"intent": "json"})["matched"] == 0
    selected = client.select_tool({"intent": "json"}, ["bash", "search"])
    assert selected["selection"]["allowed"] == ["bash", "search"]
    assert client.search_knowledge("tea") == []


def test_results_have_the_whole_response(client: Client) -> None:
    hits = client.search("tea", limits=3)
    assert hits == []
    assert hits.response["warnings"][0]["path"] == "limits"


def test_errors_are_exceptions_with_code_and_issues(client: Client, site: str) -> None:
    with pytest.raises(NotFound) as missing:
        client.get(UNKNOWN)
    assert missing.value.code == "not_found"
    assert missing.value.request_id
    with pytest.raises(InvalidRequest) as invalid:
        client.search("")
    assert invalid.value.issues[0]["path"] == "query"
    with pytest.raises(InvalidRequest) as half_a_character:
        client.store("Tea \ud83c", user_id="mira")
    assert half_a_character.value.issues == [
        {"path": "text", "message": "contains a lone surrogate"}
    ]
    with Client(site, "km_00000000_nothing") as other, pytest.raises(Unauthorized):
        other.search("x")


def test_a_key_without_the_scope_is_forbidden(site: str, reader: str) -> None:
    with Client(site, reader) as client, pytest.raises(Forbidden) as refused:
        client.store("Tea.")
    assert refused.value.code == "missing_scope"


def build_mock_client(
    *answers: httpx.Response | Exception,
) -> tuple[httpx.Client, list[httpx.Request]]:
    """Return an HTTP client that gives these answers in turn, and the requests it got."""
    requests: list[httpx.Request] = []
    left = iter(answers)

    def answer(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        each = next(left)
        if isinstance(each, Exception):
            raise each
        return each

    transport = httpx.MockTransport(answer)
    return httpx.Client(transport=transport, base_url="http://kmapp.example"), requests


def error(status: int, code: str = "", **headers: str) -> httpx.Response:
    return httpx.Response(status, json={"error": code, "message": "No."}, headers=headers)


def test_retries_with_the_same_idempotency_key() -> None:
    fine = httpx.Response(201, json={"id": "1"})
    lost = httpx.ConnectError("lost")
    http, requests = build_mock_client(error(503), lost, error(409, "idempotency_in_flight"), fine)
    assert Client("", "km_x", http=http, retry=QUICK).store("Tea.") == {"id": "1"}
    assert len(requests) == 4
    assert len({request.headers["Idempotency-Key"] for request in requests}) == 1


def test_any_post_is_retried_with_the_same_idempotency_key() -> None:
    http, requests = build_mock_client(error(503), httpx.Response(200, json={}))
    Client("", "km_x", http=http, retry=QUICK).request("POST", "/v1/memory/write", {"nodes": []})
    assert len({request.headers["Idempotency-Key"] for request in requests}) == 1


def test_base_url_applies_to_the_given_http_client() -> None:
    http, requests = build_mock_client(httpx.Response(200, json={}))
    Client("http://other.example", "km_x", http=http).health()
    assert requests[0].url == "http://other.example/v1/health"


@pytest.mark.parametrize(
    ("answer", "expected", "attempts"),
    [
        (error(503), ServerError, 4),
        (error(429, "rate_limited", **{"Retry-After": "0"}), RateLimited, 4),
        (error(429, "daily_quota", **{"Retry-After": "3600"}), RateLimited, 1),
        (error(503, **{"Retry-After": "Fri, 01 Jan 2100 00:00:00 GMT"}), ServerError, 1),
        (error(503, **{"Retry-After": "Sat, 01 Jan 2000 00:00:00 GMT"}), ServerError, 4),
        (error(503, **{"Retry-After": "soon"}), ServerError, 4),
        (error(503, **{"Retry-After": "NaN"}), ServerError, 4),
        (httpx.ReadTimeout("slow"), ConnectionFailed, 4),
        (error(500), ServerError, 1),
        (httpx.Response(502, text="<html>"), ServerError, 4),
    ],
)
def test_gives_up_after_some_attempts(
    answer: httpx.Response | Exception, expected: type[Exception], attempts: int
) -> None:
    http, requests = build_mock_client(*[answer] * 4)
    with pytest.raises(expected):
        Client("", "km_x", http=http, retry=QUICK).search("tea")
    assert len(requests) == attempts


def test_a_response_that_is_not_json_is_an_error() -> None:
    http, _ = build_mock_client(httpx.Response(200, text="<html>"))
    with pytest.raises(ServerError, match="base_url"):
        Client("", "km_x", http=http).search("tea")


def test_a_redirect_names_the_address_to_use() -> None:
    location = "https://kmapp.example/v1/memory/search"
    http, _ = build_mock_client(httpx.Response(301, headers={"Location": location}))
    with pytest.raises(InvalidRequest, match=f"redirects to {location}. Check the base_url"):
        Client("", "km_x", http=http).search("tea")


@pytest.mark.parametrize("api_key", ["km_…", "", "\n", "km_x\nkm_y", "km_x y"])
def test_the_placeholder_of_an_example_is_no_key(api_key: str) -> None:
    with pytest.raises(ValueError, match="placeholder"):
        Client("http://kmapp.example", api_key)


def test_whitespace_around_a_key_is_removed() -> None:
    http, requests = build_mock_client(httpx.Response(200, json={}))
    Client("", " km_x\r\n", http=http).health()
    assert requests[0].headers["Authorization"] == "Bearer km_x"


def test_waits_as_long_as_the_server_asks() -> None:
    assert Retry().delay(1, httpx.Response(429, headers={"Retry-After": "7"})) == 7
    assert 0 < Retry().delay(1, None) <= 0.2
    assert Retry().delay(20, None) <= 10


def test_the_asynchronous_client(site: str, key: tuple[ApiKey, str], acme: Account) -> None:
    async def use() -> list[Any]:
        async with AsyncClient(site, key[1]) as client:
            for number in range(3):
                await client.store(f"Note {number}.", user_id="zoe")
            hits = await client.search("note", user_id="zoe")
            assert (await client.request("GET", "/v1/version"))["version"]
            list_results = [each async for each in client.list_memories(user_id="zoe", limit=2)]
            with pytest.raises(NotFound):
                await client.get(UNKNOWN)
            return [len(hits), len(list_results)]

    assert asyncio.run(use()) == [3, 3]
    with acting(acme):
        assert MemoryEntry.objects.of(acme.pk).filter(user_id="zoe").count() == 3


def test_both_clients_have_the_same_methods() -> None:
    def public(kind: type[Any]) -> set[str]:
        return {name for name in vars(kind) if not name.startswith("_")}

    assert public(Client) == public(AsyncClient)
