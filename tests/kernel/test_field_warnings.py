"""Ignored fields of requests cause warnings in the response, or a refusal in strict mode."""

from typing import Any

import pytest
from django.test import Client

from kmapp.accounts.models import Account
from tests import makers

Body = dict[str, Any]


def post(agent: Client, path: str, body: Body, status: int = 200, **headers: str) -> Any:
    answer = agent.post(path, body, "application/json", headers=headers)
    assert answer.status_code == status, answer.content
    return answer.json()


UNKNOWN: list[tuple[str, Body, str, str | None]] = [
    ("/v1/memory/search", {"query": "tea", "limits": 3}, "limits", "limit"),
    ("/v1/memory/search", {"query": "tea", "zzz": 3}, "zzz", None),
    (
        "/v1/context/assemble",
        {"messages": [{"role": "user", "content": "Hi"}], "window": 9000},
        "window",
        "context_window_tokens",
    ),
    (
        "/v1/memory/write",
        {"input_text": "x", "nodes": [{"text": "Tea.", "importnce": 1}]},
        "nodes.0.importnce",
        "importance",
    ),
    (
        "/v1/memory/write",
        {"nodes": [{"type": "rule", "title": "r", "slots": {"then": {}, "exeptions": []}}]},
        "nodes.0.slots.exeptions",
        "exceptions",
    ),
    (
        "/v1/knowledge/ingest",
        {"source": "docs", "documents": [{"ref": "a", "text": "Tea.", "titel": "x"}]},
        "documents.0.titel",
        "title",
    ),
]


def test_unknown_field_suggests_the_nearest_field(agent: Client, subtests: pytest.Subtests) -> None:
    for path, body, unknown, nearest in UNKNOWN:
        with subtests.test(unknown):
            answer = agent.post(path, body, "application/json")
            assert answer.status_code in (200, 201), answer.content
            [warning] = answer.json()["warnings"]
            assert (warning["code"], warning["path"]) == ("unknown_field", unknown)
            assert warning["nearest"] == nearest
            assert unknown.rpartition(".")[2] in warning["message"]
            refused = post(agent, path, body, 400, **{"X-KM-Strict": "true"})
            assert refused["error"] == "unknown_field"
            assert [issue["path"] for issue in refused["issues"]] == [unknown]
    [warning] = agent.get("/v1/context/reports?limt=3").json()["warnings"]
    assert warning["nearest"] == "limit", "a field of a query"
    many = {"query": "tea", **{f"field{number}": 1 for number in range(50)}}
    assert len(post(agent, "/v1/memory/search", many)["warnings"]) == 20


def test_refused_field_suggests_the_nearest_field(agent: Client) -> None:
    """Endpoints that forget and erase refuse unknown fields without the strict mode too."""
    for path, unknown, nearest in (
        ("/v1/memory/forget", "ids", "id"),
        ("/v1/memory/erase", "writen_before", "written_before"),
    ):
        [issue] = post(agent, path, {unknown: ["x"]}, 400)["issues"]
        assert issue["path"] == unknown
        assert issue["message"] == f"Unknown field. Did you mean {nearest}?"
    [issue] = post(agent, "/v1/memory/forget", {"zzz": 1}, 400)["issues"]
    assert issue["message"] == "Unknown field."


def test_aliases_accounts_and_fields_of_other_apps_are_known(agent: Client) -> None:
    node = {"content": "Tea at nine.", "type": "fact", "slots": {"anything": 1}}
    rule = {"type": "rule", "title": "r", "slots": {"if": {}, "then": {}, "priority": 1}}
    body = {"input_text": "x", "tenant_id": "default", "nodes": [node, rule]}
    strict = {"X-KM-Strict": "1"}
    assert "warnings" not in post(agent, "/v1/memory/write", body, 201, **strict)


def test_schema_describes_warnings_of_every_parsed_request(agent: Client) -> None:
    schema = agent.get("/v1/schema").json()
    components, checked = schema["components"]["schemas"], 0
    missing: list[tuple[str, ...]] = []
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            queries = [each for each in operation.get("parameters", ()) if each["in"] == "query"]
            if not queries and "requestBody" not in operation:
                continue
            for status, response in operation["responses"].items():
                shape = response.get("content", {}).get("application/json", {}).get("schema", {})
                parts = shape.get("anyOf", [shape]) if status.startswith("2") else ()
                for part in parts:
                    checked += 1
                    name = part.get("$ref", "").rpartition("/")[2]
                    if "warnings" not in components.get(name, {}).get("properties", {}):
                        missing.append((method, path, status, name))
    assert missing == []
    assert checked > 50
    assert set(components["FieldWarning"]["properties"]) == {"code", "path", "nearest", "message"}


def test_a_strict_key_refuses_unknown_fields(acme: Account) -> None:
    _, secret = makers.key(acme, scopes=["memory:read", "strict"])
    client = Client(headers={"authorization": f"Bearer {secret}"})
    refused = post(client, "/v1/memory/search", {"query": "tea", "limits": 3}, 400)
    assert refused["error"] == "unknown_field"
    assert "warnings" not in post(client, "/v1/memory/search", {"query": "tea", "limit": 3})
    post(client, "/v1/memory/store", {"text": "Tea."}, 403)


@pytest.mark.parametrize(
    ("path", "body", "expected"),
    [
        ("/v1/memory/store", {"text": "Tea.", "user_id": ""}, "user_id"),
        ("/v1/memory/search", {"query": "tea", "user_id": " "}, "user_id"),
        (
            "/v1/memory/write",
            {"input_text": "x", "nodes": [{"text": "Tea.", "user_id": ""}]},
            "nodes.0.user_id",
        ),
    ],
)
def test_empty_user_id_causes_a_warning(
    agent: Client, path: str, body: Body, expected: str
) -> None:
    answer = agent.post(path, body, "application/json")
    assert answer.status_code in (200, 201), answer.content
    [warning] = answer.json()["warnings"]
    assert (warning["code"], warning["path"], warning["nearest"]) == ("empty_id", expected, None)
    assert warning["message"] == "user_id is empty; it was ignored, as if this were about no user."
    refused = post(agent, path, body, 400, **{"X-KM-Strict": "true"})
    assert refused["error"] == "empty_id"
    assert refused["message"] == f"Empty field {expected}."
    assert refused["issues"] == [
        {"path": expected, "message": "Empty. Send the ID, or omit the field."}
    ]


def test_user_id_without_a_value_causes_no_warning(agent: Client) -> None:
    for body in ({"query": "tea"}, {"query": "tea", "user_id": None}):
        assert "warnings" not in post(agent, "/v1/memory/search", body)
