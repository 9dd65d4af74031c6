"""Metrics and kinds of log lines are from fixed sets, whatever clients send.

A log line has one field that clients choose: its request ID, of at most 128 characters.
"""

import ast
import io
import json
from collections.abc import Iterator
from uuid import uuid4

from django.conf import settings
from django.test import Client
from prometheus_client import REGISTRY

from kmapp.accounts.models import Account
from kmapp.api.middleware import METHODS
from tests.vocabulary import PACKAGES

LEVELS = {"debug", "info", "warning", "error", "exception", "critical"}
MARK = "zzq"  # in every word that a client invents


def series() -> set[tuple[str, tuple[tuple[str, str], ...]]]:
    """Return the name and labels of each series of the product in this process."""
    return {
        (sample.name, tuple(sorted(sample.labels.items())))
        for metric in REGISTRY.collect()
        for sample in metric.samples
        if sample.name.startswith("kmapp_")
    }


def send_odd_requests(client: Client, agent: Client) -> None:
    media = "application/json"
    for number in range(5):
        word = f"{MARK}{uuid4().hex[:8]}{number}"
        client.generic(word.upper(), f"/v1/{word}")
        agent.generic(word.upper(), "/v1/memory/search")
        client.get(f"/{word}/{word}", headers={"X-Request-Id": word, "Traceparent": word})
        agent.get(f"/v1/memory/{uuid4()}/history")
        agent.get(f"/v1/memory/{word}/history")
        agent.post(f"/v1/knowledge/{word}", {word: word}, content_type=media)
        ids = {"user_id": word, "agent_id": word, "run_id": word, "tags": [word]}
        agent.post("/v1/memory/store", {"text": word, **ids, word: 1}, content_type=media)
        query = {"query": word, "user_id": word}
        agent.post("/v1/memory/search", query, content_type=media, headers={"X-KM-Variant": word})
        rule = {"name": word, "context": {word: word}, "candidates": [word]}
        agent.post("/v1/memory/tools/select", rule, content_type=media)
        client.post("/v1/memory/store", {}, headers={"Authorization": f"Bearer {word}"})
        client.post("/sign-in/", {"login": word, "password": word})


def test_clients_cannot_create_series_or_kinds_of_log_lines(
    acme: Account, client: Client, agent: Client, lines: io.StringIO
) -> None:
    send_odd_requests(client, agent)
    before = series()
    lines.truncate(0)
    lines.seek(0)
    send_odd_requests(client, agent)
    events = [json.loads(line) for line in lines.getvalue().splitlines()]
    assert series() == before
    assert MARK not in str(before).lower()
    methods = {dict(labels)["method"] for _, labels in before if "method" in dict(labels)}
    assert methods <= METHODS | {"other"}
    ids = [line.pop("request_id") for line in events]
    assert any(MARK in each for each in ids)
    assert max(len(each) for each in ids) <= 128
    assert len([line for line in events if line["event"] == "request"]) >= 5 * 10
    assert len({line["event"] for line in events}) > 1
    assert [line for line in events if MARK in str(line).lower()] == []


def log_calls() -> Iterator[tuple[str, ast.Call]]:
    for package in PACKAGES:
        for path in sorted((settings.BASE_DIR / package).rglob("*.py")):
            text = path.read_text()
            for node in ast.walk(ast.parse(text)) if "log." in text else ():
                if (
                    isinstance(node, ast.Call)
                    and isinstance(node.func, ast.Attribute)
                    and node.func.attr in LEVELS
                    and isinstance(node.func.value, ast.Name)
                    and node.func.value.id == "log"
                ):
                    yield f"{path}:{node.lineno}", node


def test_events_of_log_lines_are_constants() -> None:
    calls = list(log_calls())
    assert len(calls) > 20
    assert [place for place, call in calls if not isinstance(call.args[0], ast.Constant)] == []
