"""The statements that verification on read adds to a response."""

from typing import Any

from django.db import connection
from django.test.utils import CaptureQueriesContext

from kmapp.accounts.models import Account
from tests import makers
from tests.agent import Agent
from tests.knowledge.builders import deliver
from tests.rules.builders import add_rule

OWNER = {"user_id": "ana"}
SELECTION = {"context": {"intent": "fetch"}, "candidates": ["bash", "curl"]}


def test_verification_adds_few_statements(acme: Account) -> None:
    scopes = ["memory:read", "memory:write", "knowledge:read", "rules:read"]
    agent = makers.agent(acme, scopes)
    pk = agent.store("The spare key is in the blue box.", **OWNER)
    for number in range(3):
        deliver(acme, {f"{number}.md": f"# Key {number}\n\nThe spare key {number}."})
        add_rule(acme, f"Rule {number}", "active")
    makers.settle()
    requests: dict[str, tuple[Any, int]] = {
        "memory/get": ({"id": pk, **OWNER}, 1),
        "knowledge/search": ({"query": "Where is the spare key?"}, 2),
        "memory/rules/evaluate": ({"context": {"intent": "fetch"}}, 0),
        "memory/tools/select": (SELECTION, 0),
        "rules": (None, 1),
    }
    unverified = {path: count_statements(agent, path, body) for path, (body, _) in requests.items()}
    makers.set_policy(acme, {"verify_on_read": True})
    for path, (body, added) in requests.items():
        assert count_statements(agent, path, body) <= unverified[path] + added, path


def count_statements(agent: Agent, path: str, body: Any) -> int:
    """Return the statements of a request that the process has answered before."""
    send_request(agent, path, body)
    with CaptureQueriesContext(connection) as captured:
        send_request(agent, path, body)
    return len(captured)


def send_request(agent: Agent, path: str, body: Any) -> None:
    answer = agent.get(path, 200) if body is None else agent.post(path, body, 200)
    assert "withheld" not in answer
