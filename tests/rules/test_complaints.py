"""What is wrong with a rule is said with its place, in words that help, in both languages."""

from time import monotonic
from typing import Any

import pytest
from django.utils.translation import override

from rules.editing.validation_messages import WORDS, issues_of

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
    ("object", {"if": []}, "if: write an object here: {…}"),
    ("array", {"if": {"a": {"$in": "x"}}}, "if.a.$in: write a list here: […]"),
    ("string", {"then": {"tool": {"deny": [3]}}}, "then.tool.deny.0: write text here, in quotes"),
    ("boolean", {"if": {"a": {"$exists": 1}}}, "if.a.$exists: write true or false here"),
    ("number-or-string", {"if": {"a": {"$gt": None}}}, "if.a.$gt: write a number or text here"),
    (
        "enum",
        {"then": {"output": {"format": "xml"}}},
        "then.output.format: write one of these: json, text, markdown",
    ),
    (
        "unknown",
        {"then": {"tool": {"permit": []}}},
        "then.tool: does not know permit: take it out, or write one of allow, deny, prefer",
    ),
    ("minProperties", {"exceptions": [{}]}, "exceptions.0: is empty: say at least one thing here"),
    (
        "maxProperties",
        {"if": {f"k{i}": 1 for i in range(101)}},
        "if: has 101 entries: 100 are the most",
    ),
    ("minItems", {"if": {"$or": []}}, "if.$or: is an empty list: write at least one thing in it"),
    ("maxItems", {"if": {"a": [*NUMBERS, 200]}}, "if.a: has 201 items: 200 are the most"),
    (
        "minLength",
        {"then": {"tool": {"deny": [""]}}},
        "then.tool.deny.0: is an empty name: write one, or take it out",
    ),
    (
        "maxLength",
        {"if": {"a": {"$regex": "x" * 257}}},
        "if.a.$regex: has 257 characters: 256 are the most",
    ),
    (
        "uniqueItems",
        {"then": {"tool": {"deny": ["x", "x"]}}},
        "then.tool.deny: names something twice: take one of them out",
    ),
    (
        "large",
        {"if": {"a": "发" * 20_000}},
        "if: has 20008 characters as JSON: 20000 are the most",
    ),
    (
        "pattern",
        {"if": {"$or": [{"a": {"$not": {"$regex": "(?=x)"}}}]}},
        "if.$or.0.a.$not.$regex: is no pattern that is matched in linear time, so it would never "
        "match: close what is open, and do without look-around and back references",
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
