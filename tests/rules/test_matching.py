"""Matching of rules, and observation of rules in shadow mode."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from rules.evaluation import matching, tool_selection
from rules.evaluation.matching import (
    CompiledRule,
    RuleDefinition,
    RuleViewer,
    build_rule_set,
    compile_rule,
)
from rules.evaluation.tool_selection import (
    SelectionRequest,
    build_policy,
    observe_rule,
    observe_rules,
)

NOBODY = UUID(int=0)
START = datetime(2030, 1, 1, tzinfo=UTC)
JSON = {"output": {"format": "json"}}
TEXT = {"output": {"format": "text"}}
STRICT = {"output": {"strict": True}}
ONE, TRUE = {"extensions": {"x": [1]}}, {"extensions": {"x": [True]}}
CANDIDATES = ("bash", "curl", "grep")


def tool(**lists: list[str]) -> dict[str, Any]:
    return {"tool": lists}


def rule(name: str, when: dict[str, Any], then: dict[str, Any], **more: Any) -> CompiledRule:
    values: dict[str, Any] = {
        "id": name,
        "lineage": name,
        "name": name,
        "live": True,
        "exceptions": (),
        "priority": 0,
        "weight": 1.0,
        "audience": "account",
        "audience_id": "",
        "scope": "",
        "created_at": START + timedelta(seconds=ord(name[0])),
        "commit_id": NOBODY,
        "when": when,
        "then": then,
        **more,
    }
    return compile_rule(RuleDefinition(**values))


RULES = [
    rule("any", {}, JSON),
    rule("json", {"intent": "json"}, JSON),
    rule("deep", {"$and": [{"intent": "json"}, {"user.tier": "pro"}]}, STRICT),
    rule("number", {"count": {"$gt": 1}}, STRICT),
    rule("except", {"intent": "json"}, TEXT, exceptions=({"count": 2}, {"user.tier": "free"})),
    rule("agent", {}, STRICT, audience="agent", audience_id="bot-7"),
    rule("user", {}, STRICT, audience="user", audience_id="ada"),
    rule("app", {}, STRICT, audience="app", audience_id="desk"),
    rule("elsewhere", {}, STRICT, scope="other"),
    rule("watch", {"intent": "json"}, TEXT, live=False),
]


@pytest.mark.parametrize(
    ("context", "viewer", "live", "watching"),
    [
        ({}, RuleViewer(), "any", ""),
        ({"intent": "json"}, RuleViewer(), "any json except", "watch"),
        ({"intent": "json", "count": 2}, RuleViewer(), "any json number", "watch"),
        (
            {"intent": "json", "user": {"tier": "pro"}},
            RuleViewer(),
            "any json deep except",
            "watch",
        ),
        ({"intent": "json", "user": {"tier": "free"}}, RuleViewer(), "any json", "watch"),
        ({"intent": ["json"]}, RuleViewer(), "any", ""),
        ({}, RuleViewer(agent_id="bot-7"), "any agent", ""),
        ({}, RuleViewer(agent_id="bot-8", user_id="ada"), "any user", ""),
        ({}, RuleViewer(app_id="desk", user_id="bot-7"), "any app", ""),
        ({}, RuleViewer(scope="other"), "elsewhere", ""),
    ],
    ids=range(10),
)
def test_matching_rules_are_found(
    context: dict[str, Any], viewer: RuleViewer, live: str, watching: str
) -> None:
    rules = build_rule_set(RULES)
    matched = rules.match(context, viewer)
    assert " ".join(one.rule.id for one in matched.live) == live
    assert " ".join(one.rule.id for one in matched.shadow) == watching
    tried = [one for one in RULES if one.applies_to(viewer)]
    assert matched.considered == len(tried)
    holding = {one.rule.id for one in tried if one.matches(context)}
    results = {one.rule.id for one in (*matched.live, *matched.shadow)}
    assert results == holding, "filed or not"


@pytest.mark.parametrize(
    ("shadow", "context", "live", "expected"),
    [
        (rule("w", {"a": "x"}, TEXT), {"a": "x"}, [rule("l", {}, STRICT)], (True, True)),
        (rule("w", {"a": "x"}, STRICT), {"a": "x"}, [rule("l", {}, STRICT)], (True, False)),
        (rule("w", {"a": "x"}, TEXT), {"a": "y"}, [rule("l", {}, STRICT)], None),
        (rule("w", {}, TEXT, priority=-1), {}, [rule("l", {}, JSON)], (True, False)),
        (rule("w", {}, TEXT, priority=1), {}, [rule("l", {}, JSON)], (True, True)),
        (rule("w", {}, tool(deny=["bash"])), {}, [], (True, True)),
        (rule("w", {}, tool(deny=["vim"])), {}, [], (True, False)),
        (rule("w", {}, tool(prefer=["bash"])), {}, [], (True, False)),
        (rule("w", {}, TEXT, audience="agent", audience_id="b"), {}, [], None),
        (rule("w", {}, ONE), {}, [rule("l", {}, TRUE)], (True, True)),
    ],
    ids=range(10),
)
def test_shadow_rule_is_observed(
    shadow: CompiledRule, context: dict[str, Any], live: list[CompiledRule], expected: Any
) -> None:
    question = SelectionRequest(context=context, candidates=CANDIDATES)
    seen = observe_rule(shadow, question, live, None, {})
    assert (seen and (seen.matched, seen.changed)) == expected


def test_shadow_edition_replaces_its_active_edition() -> None:
    live = rule("l", {"a": "x"}, JSON)
    narrower = rule("w", {"a": "x", "b": 1}, JSON, lineage="l", live=False)
    silent = observe_rule(narrower, SelectionRequest(context={"a": "x"}), [live], live, {})
    assert silent
    assert (silent.matched, silent.changed) == (False, True)
    same = observe_rule(narrower, SelectionRequest(context={"a": "x", "b": 1}), [live], live, {})
    assert same
    assert (same.matched, same.changed) == (True, False)
    for_others = rule("w", {"a": "x"}, JSON, lineage="l", audience="agent", audience_id="b")
    removed = observe_rule(for_others, SelectionRequest(context={"a": "x"}), [live], live, {})
    assert removed
    assert (removed.matched, removed.changed) == (False, True)
    assert build_policy([live], {}).values == JSON


def test_only_shadow_rules_have_a_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "SHADOW_SECONDS", -1.0)
    matched = build_rule_set(RULES).match({"intent": "json"}, RuleViewer())
    assert [one.rule.name for one in matched.live] == ["any", "json", "except"]
    assert matched.shadow == ()


def test_time_to_observe_shadow_rules_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    rules, question = build_rule_set(RULES), SelectionRequest(context={"intent": "json"})
    matched = rules.match(question.context, question.viewer)
    assert [one.rule for one in observe_rules(rules, matched, question, {})] == ["watch"]
    monkeypatch.setattr(tool_selection, "SHADOW_SECONDS", -1.0)
    assert observe_rules(rules, matched, question, {}) == []


def test_shadow_rules_are_evaluated_only_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = build_rule_set(RULES)
    monkeypatch.delattr(matching, "_match_shadow")
    matched = rules.match({"intent": "json"}, RuleViewer(), with_shadow=False)
    assert [one.rule.name for one in matched.live] == ["any", "json", "except"]
    assert matched.shadow == ()
