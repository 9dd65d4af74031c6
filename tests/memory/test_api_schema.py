"""Responses of the memory endpoints match the published schema."""

from typing import Any
from uuid import uuid4

import pytest
from jsonschema import Draft202012Validator

from memory.retrieval.filter_expressions import FILTER_FIELDS
from tests import makers
from tests.agent import Agent

NODES = [
    {"client_id": "a", "text": "Lin likes oolong tea.", "user_id": "lin", "run_id": "r1"},
    {"client_id": "b", "text": "林喜欢乌龙茶。", "user_id": "lin", "run_id": "r1"},
]
EDGE = {"type": "related_to", "src": {"client_id": "a"}, "dst": {"client_id": "b"}}


@pytest.fixture
def schema(agent: Agent) -> dict[str, Any]:
    """The published schema, with unnamed fields forbidden."""
    schema: dict[str, Any] = agent.get("schema")
    for component in schema["components"]["schemas"].values():
        if "properties" in component:
            component.setdefault("additionalProperties", False)
    return schema


def check(schema: dict[str, Any], path: str, status: int | str, answer: Any) -> None:
    """Validate a response; `path` names the operation."""
    method, _, address = path.partition(" ")
    response = schema["paths"][address][method]["responses"][str(status)]
    shape = response["content"]["application/json"]["schema"]
    whole = {**shape, "components": schema["components"]}
    validator = Draft202012Validator(whole, format_checker=Draft202012Validator.FORMAT_CHECKER)
    assert [f"{error.json_path}: {error.message}" for error in validator.iter_errors(answer)] == []


def test_write_responses_match_the_schema(agent: Agent, schema: dict[str, Any]) -> None:
    body = {"input_text": "a talk", "nodes": NODES, "edges": [EDGE]}
    written = agent.post("memory/write", body, 201)
    check(schema, "post /v1/memory/write", 201, written)
    check(schema, "post /v1/memory/write", 200, agent.post("memory/write", body, 200))
    stored = agent.post("memory/store", {"text": "The office closes at six."}, 201)
    check(schema, "post /v1/memory/store", 201, stored)
    event = agent.get(f"events/{written['embedding_backfill']['event_ids'][0]}")
    check(schema, "get /v1/events/{id}", 200, event)


def test_read_responses_match_the_schema(agent: Agent, schema: dict[str, Any]) -> None:
    agent.post("memory/write", {"nodes": NODES}, 201)
    query = {"query": "oolong", "user_id": "lin", "explain": True}
    by_words = agent.post("memory/search", query)
    makers.settle()
    result = agent.post("memory/search", query)
    assert by_words["results"]
    assert result["results"]
    for answer in (by_words, result):
        check(schema, "post /v1/memory/search", 200, answer)
    got = agent.post("memory/get", {"client_id": "a"})
    check(schema, "post /v1/memory/get", 200, got)
    history = agent.get(f"memory/{got['id']}/history")
    check(schema, "get /v1/memory/{id}/history", 200, history)
    check(schema, "get /v1/memory/commits", 200, agent.get("memory/commits"))
    check(schema, "get /v1/memory/verify", 200, agent.get("memory/verify"))


def test_history_and_commits_name_the_next_page(agent: Agent, schema: dict[str, Any]) -> None:
    pk = agent.store("Lin likes tea.", user_id="lin")
    for number in range(2):
        agent.post("memory/update", {"id": pk, "text": f"Lin likes tea number {number}."}, 200)
    for path, items, name in (
        (f"memory/{pk}/history", "versions", "version"),
        ("memory/commits", "commits", "seq"),
    ):
        everything = agent.get(path)
        assert everything["next"] is None
        pages: list[Any] = []
        position: int | None = 0
        while position is not None:
            answer = agent.get(path, limit=2, after=position)
            pages += answer[items]
            position = answer["next"]
            assert position in (None, answer[items][-1][name])
        assert pages == everything[items]
    check(schema, "get /v1/memory/commits", 200, agent.get("memory/commits", limit=1))


def test_change_responses_match_the_schema(agent: Agent, schema: dict[str, Any]) -> None:
    agent.post("memory/write", {"nodes": NODES}, 201)
    changed = agent.post("memory/update", {"client_id": "a", "text": "Lin likes tea."}, 200)
    check(schema, "post /v1/memory/update", 200, changed)
    forgotten = agent.post("memory/forget", {"client_id": "a"})
    check(schema, "post /v1/memory/forget", 200, forgotten)


def test_error_responses_match_the_schema(agent: Agent, schema: dict[str, Any]) -> None:
    refusal = agent.post("memory/write", {"nodes": [{"kind": "poem"}]}, 400)
    check(schema, "post /v1/memory/write", 400, refusal)
    check(
        schema, "post /v1/memory/get", "default", agent.post("memory/get", {"client_id": "no"}, 404)
    )


def test_schema_has_the_messages_that_are_accepted(agent: Agent) -> None:
    schema = agent.get("schema")
    operation = schema["paths"]["/v1/memory/add"]["post"]["requestBody"]
    shape = operation["content"]["application/json"]["schema"]
    validator = Draft202012Validator({**shape, "components": schema["components"]})
    calls, picture = {"tool_calls": [{"id": "c1"}]}, "https://pictures.test/tea.png"
    messages: list[tuple[dict[str, Any], int]] = [
        ({"role": "assistant", **calls}, 202),
        ({"role": "assistant", "content": None, **calls}, 202),
        ({"role": "user", "content": ["Hello.", {"type": "text", "text": "Bye."}]}, 202),
        ({"role": "user"}, 400),
        ({"role": "user", "content": None}, 400),
        ({"role": "assistant", "tool_calls": []}, 400),
        ({"role": "assistant", "content": None, "tool_calls": None}, 400),
    ]
    for message, status in messages:
        body = {"messages": [message, {"role": "user", "content": "Tea."}], "user_id": "lin"}
        assert validator.is_valid(body) == (status == 202), message
        agent.post("memory/add", body, status)
    message = {"role": "user", "content": [{"type": "image_url", "image_url": picture}]}
    assert validator.is_valid({"messages": message})
    # Accepted if a model can read pictures.
    assert agent.post("memory/add", {"messages": message}, 400)["error"] == "no_vision_model"


def test_schema_lists_roles_and_filter_fields(agent: Agent) -> None:
    """A client can validate requests: what the schema refuses, the server refuses too."""
    schema = agent.get("schema")

    def request_of(path: str) -> Draft202012Validator:
        body = schema["paths"][path]["post"]["requestBody"]["content"]["application/json"]
        return Draft202012Validator({**body["schema"], "components": schema["components"]})

    search = request_of("/v1/memory/search")
    for name, field in FILTER_FIELDS.items():
        value = {"json": {"a": 1}, "number": 0.5, "flag": True, "id": str(uuid4())}.get(
            field.kind, "2026-01-31"
        )
        simple: dict[str, Any] = {name: value}
        for filters in (simple, {"NOT": simple}, {"AND": [simple]}):
            assert search.is_valid({"query": "tea", "filters": filters}), filters
            agent.post("memory/search", {"query": "tea", "filters": filters}, 200)
    refused: list[dict[str, Any]] = [{"colour": "red"}, {"pinned": "yes"}]
    refused += [{"importance": {"gte": "high"}}, {"NOT": {"AND": [{"colour": "red"}]}}]
    for filters in refused:
        assert not search.is_valid({"query": "tea", "filters": filters}), filters
        agent.post("memory/search", {"query": "tea", "filters": filters}, 400)
    for path, role in (("memory/add", "narrator"), ("context/prepare", "narrator")):
        body = {"messages": [{"role": role, "content": "Hello."}], "conversation_id": "c"}
        assert not request_of(f"/v1/{path}").is_valid(body), path
        agent.post(path, body, 400)
        body["messages"] = [{"role": "user", "content": "Hello."}]
        assert request_of(f"/v1/{path}").is_valid(body), path
