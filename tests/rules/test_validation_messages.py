"""Validation messages of rules: place and text, in both languages."""

from time import monotonic
from typing import Any

import pytest
from django.utils.translation import override

from rules.editing.rule_input import WORDS, issues_of

NUMBERS = list(range(200))


@pytest.mark.parametrize(
    ("rule", "paths"),
    [
        ({}, []),
        ({"if": []}, ["if"]),
        ({"if": {"a": {"$like": 1}}}, ["if.a"]),
        ({"if": {"$or": []}}, ["if.$or"]),
        ({"if": {"$or": [{"a": {"$gt": None}}]}}, ["if.$or.0.a.$gt"]),
        ({"if": {"a": {"$regex": "(?=x)"}}}, ["if.a.$regex"]),
        ({"if": {"a": {"$regex": "x" * 257}}}, ["if.a.$regex"]),
        ({"if": {"a": {"$exists": 1}}}, ["if.a.$exists"]),
        ({"if": {"a": {"$in": "x"}}}, ["if.a.$in"]),
        ({"if": {"a": {"$eq": {"$like": 1}}}}, []),
        ({"then": {}}, ["then"]),
        ({"then": {"output": {"format": "xml"}}}, ["then.output.format"]),
        ({"then": {"output": {"strict": 1}}}, ["then.output.strict"]),
        ({"then": {"tool": {"deny": "curl"}}}, ["then.tool.deny"]),
        ({"then": {"tool": {"deny": [""]}}}, ["then.tool.deny.0"]),
        ({"then": {"tool": {"permit": []}}}, ["then.tool"]),
        ({"then": {"model": "x"}}, ["then"]),
        ({"then": {"extensions": {"anything": [1, {"deep": None}]}}}, []),
        ({"exceptions": [{}]}, ["exceptions.0"]),
        ({"exceptions": [{"a": 1}, 2]}, ["exceptions.1"]),
        ({"exceptions": {"a": 1}}, ["exceptions"]),
    ],
)
def test_what_is_wrong_is_said_with_its_place(rule: dict[str, Any], paths: list[str]) -> None:
    whole = {"if": {}, "then": {"tool": {"deny": ["curl"]}}, "exceptions": [], **rule}
    assert [issue["path"] for issue in issues_of(whole)] == paths


COMPLAINTS: list[tuple[str, dict[str, Any], str]] = [
    ("object", {"if": []}, "if: Enter a JSON object: {…}"),
    ("array", {"if": {"a": {"$in": "x"}}}, "if.a.$in: Enter a list: […]"),
    ("string", {"then": {"tool": {"deny": [3]}}}, "then.tool.deny.0: Enter text in quotes"),
    ("boolean", {"if": {"a": {"$exists": 1}}}, "if.a.$exists: Enter true or false"),
    ("number-or-string", {"if": {"a": {"$gt": None}}}, "if.a.$gt: Enter a number or text"),
    (
        "enum",
        {"then": {"output": {"format": "xml"}}},
        "then.output.format: Use one of these: json, text, markdown",
    ),
    (
        "unknown",
        {"then": {"tool": {"permit": []}}},
        "then.tool: Unknown name permit: remove it, or use one of allow, deny, prefer",
    ),
    ("minProperties", {"exceptions": [{}]}, "exceptions.0: Empty object: add at least one entry"),
    (
        "maxProperties",
        {"if": {f"k{i}": 1 for i in range(101)}},
        "if: Too many entries: 101, the limit is 100",
    ),
    ("minItems", {"if": {"$or": []}}, "if.$or: Empty list: add at least one item"),
    ("maxItems", {"if": {"a": [*NUMBERS, 200]}}, "if.a: Too many items: 201, the limit is 200"),
    (
        "minLength",
        {"then": {"tool": {"deny": [""]}}},
        "then.tool.deny.0: Empty name: enter a name, or remove it",
    ),
    (
        "maxLength",
        {"if": {"a": {"$regex": "x" * 257}}},
        "if.a.$regex: Too long: 257 characters, the limit is 256",
    ),
    (
        "uniqueItems",
        {"then": {"tool": {"deny": ["x", "x"]}}},
        "then.tool.deny: Duplicate names: remove one of them",
    ),
    (
        "large",
        {"if": {"a": "发" * 20_000}},
        "if: Too large: 20008 characters as JSON, the limit is 20000",
    ),
    (
        "pattern",
        {"if": {"$or": [{"a": {"$not": {"$regex": "(?=x)"}}}]}},
        "if.$or.0.a.$not.$regex: Unsupported regular expression, so it would never "
        "match: close all brackets, and remove look-arounds and backreferences",
    ),
]


@pytest.mark.parametrize(("code", "rule", "said"), COMPLAINTS, ids=[one[0] for one in COMPLAINTS])
def test_what_is_wrong_is_said_in_words_that_help(
    code: str, rule: dict[str, Any], said: str
) -> None:
    whole = {"if": {}, "then": {"tool": {"deny": ["curl"]}}, "exceptions": [], **rule}
    assert [f"{issue['path']}: {issue['message']}" for issue in issues_of(whole)] == [said]
    with override("zh-hans"):
        [issue] = issues_of(whole)
    assert not said.endswith(issue["message"])


def test_every_complaint_has_been_heard() -> None:
    assert [code for code, _rule, _said in COMPLAINTS] == list(WORDS)


@pytest.mark.parametrize("part", [[[]] * 30_000, [{"$like": 1}] * 20_000, "x" * 1_000_000])
def test_what_is_too_large_is_not_looked_into(part: Any) -> None:
    whole = {"if": {"a": part}, "then": {"tool": {"deny": ["curl"]}}, "exceptions": []}
    started = monotonic()
    assert [issue["path"] for issue in issues_of(whole)] == ["if"]
    assert monotonic() - started < 0.5
