"""The time to check and to compare rules is limited, whatever their patterns and conditions are."""

from typing import Any

import pytest
from django.test import Client

from kmapp.accounts.models import Account
from rules.editing import rule_input
from rules.editing.rendering import compare_rules
from rules.editing.rule_input import list_issues
from rules.evaluation import patterns
from tests.rules.builders import NO_CURL, add_rule

SLOW = "This part could not be checked in time. Simplify it, or try again."
DRAFT: dict[str, Any] = {"if": {"a": {"$regex": "[a-z]+-slow"}}, "then": NO_CURL, "exceptions": []}


def test_time_to_check_a_rule_is_limited(agent: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rule_input, "MAX_SECONDS", -1.0)
    assert list_issues(DRAFT)[0] == {"path": "if", "message": SLOW}
    body = {**DRAFT, "name": "Slow"}
    refused = agent.post("/v1/rules", body, content_type="application/json")
    assert (refused.status_code, refused.json()["error"]) == (400, "invalid_rule_then_json")
    assert refused.json()["issues"][0]["message"] == SLOW


def test_time_to_list_rules_is_limited(
    agent: Client, acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_rule(acme, "Slow", when=DRAFT["if"])
    monkeypatch.setattr("rules.api.rules.MAX_SECONDS", -1.0)
    [listed] = agent.get("/v1/rules").json()["rules"]
    assert listed["issues"][0] == {"path": "if", "message": SLOW}


def test_pattern_is_checked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[str] = []

    def compile_pattern(text: str) -> None:
        compiled.append(text)

    monkeypatch.setattr(patterns, "compile_safe_pattern", compile_pattern)
    rule = {**DRAFT, "if": {"a": {"$regex": "checked once"}}}
    for _ in range(2):
        assert [issue["path"] for issue in list_issues(rule)] == ["if.a.$regex"]
    assert compiled == ["checked once"]


def test_steps_to_compare_rules_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    rule = {**DRAFT, "priority": 0, "weight": 1, "audience": "account", "audience_id": ""}
    before, after = ({**rule, "if": {"$or": [{"a": 1}, {"b": n}]}} for n in (1, 2))
    marks = [mark for mark, line in compare_rules(before, after) if line.part == "If"]
    assert marks == ["", "", "del", "ins"]
    monkeypatch.setattr("kmapp.web.diff._MAX_STEPS", 0)
    marks = [mark for mark, line in compare_rules(before, after) if line.part == "If"]
    assert marks == ["del"] * 3 + ["ins"] * 3
