"""Matching of conditions."""

from typing import Any

import pytest

from rules.evaluation.conditions import compile_condition
from rules.evaluation.time_limit import TooSlow, limit_time
from tests.timing import assert_linear

CONTEXT: dict[str, Any] = {
    "intent": "json",
    "count": 3,
    "ratio": 0.5,
    "whole": 1.0,
    "zero": 0,
    "flag": True,
    "off": False,
    "nothing": None,
    "empty": {},
    "none": [],
    "tags": ["a", "b", "c"],
    "mixed": [1, True, None, {"k": 1}, ["x"]],
    "user": {"name": "Ada", "tier": "pro", "address": {"city": "Lyon"}},
    "tools": [{"name": "grep", "cost": 1}, {"name": "curl", "cost": 5}],
    "dotted.key": "literal",
    "dotted": {"key": "nested", "other": "deep"},
    "text": "deploy to production, 发布到生产",
    "day": "2030-05-01",
}

NAMES = [f"n{i}" for i in range(200)]
NUMBERS = list(range(200))
CASES: list[tuple[dict[str, Any], bool]] = [
    # Equality: types never convert.
    ({}, True),
    ({"intent": "json"}, True),
    ({"intent": "JSON"}, False),
    ({"intent": "xml"}, False),
    ({"count": 3}, True),
    ({"count": 3.0}, True),
    ({"count": "3"}, False),
    ({"whole": 1}, True),
    ({"flag": True}, True),
    ({"flag": 1}, False),
    ({"zero": False}, False),
    ({"off": False}, True),
    ({"off": 0}, False),
    ({"nothing": None}, True),
    ({"nothing": False}, False),
    ({"absent": None}, False),
    ({"absent": "x"}, False),
    ({"intent": "json", "count": 3}, True),
    ({"intent": "json", "count": 4}, False),
    # Nested objects and dotted keys.
    ({"user": {"name": "Ada"}}, True),
    ({"user": {"name": "Ada", "tier": "pro"}}, True),
    ({"user": {"name": "Ada", "tier": "free"}}, False),
    ({"user": {"address": {"city": "Lyon"}}}, True),
    ({"user": {"address": {"city": "Oslo"}}}, False),
    ({"user": {}}, True),
    ({"intent": {}}, False),
    ({"absent": {}}, False),
    ({"user.name": "Ada"}, True),
    ({"user.address.city": "Lyon"}, True),
    ({"user.address.street": "Lyon"}, False),
    ({"user.name.first": "Ada"}, False),
    ({"user": {"address.city": "Lyon"}}, True),
    ({"dotted.key": "literal"}, True),
    ({"dotted.key": "nested"}, False),
    ({"dotted.other": "deep"}, True),
    ({"dotted": {"key": "nested"}}, True),
    ({"tools.0.name": "grep"}, True),
    ({"tools.1.cost": 5}, True),
    ({"tools.2.name": "grep"}, False),
    ({"tools.-1.name": "curl"}, False),
    ({"tools.name": "grep"}, False),
    # Lists: every item is among the context's.
    ({"tags": ["a"]}, True),
    ({"tags": ["c", "a"]}, True),
    ({"tags": ["a", "z"]}, False),
    ({"tags": []}, True),
    ({"none": []}, True),
    ({"none": ["a"]}, False),
    ({"tags": "a"}, False),
    ({"intent": ["json"]}, False),
    ({"absent": []}, False),
    ({"mixed": [1]}, True),
    ({"mixed": [1.0]}, True),
    ({"mixed": [0]}, False),
    ({"mixed": ["1"]}, False),
    ({"mixed": [True, None]}, True),
    ({"mixed": [False]}, False),
    ({"mixed": [{"k": 1}]}, True),
    ({"mixed": [["x"]]}, True),
    ({"tools": [{"name": "curl"}]}, True),
    ({"tools": [{"name": "curl", "cost": 1}]}, False),
    ({"tools": [{"cost": {"$gt": 4}}]}, True),
    ({"tools": [{"cost": {"$gt": 9}}]}, False),
    # $eq and $ne.
    ({"intent": {"$eq": "json"}}, True),
    ({"intent": {"$eq": "xml"}}, False),
    ({"tags": {"$eq": ["a", "b", "c"]}}, True),
    ({"tags": {"$eq": ["a", "b"]}}, False),
    ({"empty": {"$eq": {}}}, True),
    ({"user": {"$eq": {"name": "Ada"}}}, False),
    ({"absent": {"$eq": None}}, False),
    ({"intent": {"$ne": "xml"}}, True),
    ({"intent": {"$ne": "json"}}, False),
    ({"flag": {"$ne": 1}}, True),
    ({"absent": {"$ne": "x"}}, True),
    # $in and $nin.
    ({"intent": {"$in": ["json", "xml"]}}, True),
    ({"intent": {"$in": ["xml"]}}, False),
    ({"intent": {"$in": []}}, False),
    ({"intent": {"$in": "json"}}, False),
    ({"count": {"$in": [1, 3]}}, True),
    ({"count": {"$in": ["3"]}}, False),
    ({"flag": {"$in": [1]}}, False),
    ({"flag": {"$in": [1, True]}}, True),
    ({"whole": {"$in": [1]}}, True),
    ({"user": {"$in": ["Ada"]}}, False),
    ({"nothing": {"$in": [None]}}, True),
    ({"absent": {"$in": [None]}}, False),
    ({"tags": {"$in": ["a"]}}, False),
    ({"intent": {"$nin": ["xml"]}}, True),
    ({"intent": {"$nin": ["json"]}}, False),
    ({"absent": {"$nin": ["json"]}}, True),
    ({"intent": {"$nin": "json"}}, False),
    # Order: numbers with numbers, texts with texts.
    ({"count": {"$gt": 2}}, True),
    ({"count": {"$gt": 3}}, False),
    ({"count": {"$gte": 3}}, True),
    ({"count": {"$lt": 3.5}}, True),
    ({"count": {"$lte": 2}}, False),
    ({"count": {"$gt": 2, "$lt": 4}}, True),
    ({"count": {"$gt": 3, "$lt": 4}}, False),
    ({"count": {"$gt": "2"}}, False),
    ({"intent": {"$gt": 2}}, False),
    ({"flag": {"$gt": 0}}, False),
    ({"flag": {"$gte": True}}, False),
    ({"day": {"$gte": "2030-01-01"}}, True),
    ({"day": {"$lt": "2030-01-01"}}, False),
    ({"nothing": {"$lt": 1}}, False),
    ({"absent": {"$lt": 1}}, False),
    ({"tags": {"$gt": []}}, False),
    # $contains.
    ({"tags": {"$contains": "b"}}, True),
    ({"tags": {"$contains": "z"}}, False),
    ({"tags": {"$contains": ["a", "c"]}}, True),
    ({"tags": {"$contains": ["a", "z"]}}, False),
    ({"mixed": {"$contains": 1}}, True),
    ({"mixed": {"$contains": {"k": 1}}}, True),
    ({"mixed": {"$contains": {"k": 2}}}, False),
    ({"mixed": {"$contains": [{"k": 1.0}, ["x"], True, None]}}, True),
    ({"mixed": {"$contains": [{"k": True}]}}, False),
    ({"mixed": {"$contains": [["x", "x"]]}}, False),
    ({"tools": {"$contains": [{"cost": 5, "name": "curl"}]}}, True),
    ({"tools": {"$contains": [{"name": "curl"}]}}, False),
    ({"text": {"$contains": "production"}}, True),
    ({"text": {"$contains": "发布"}}, True),
    ({"text": {"$contains": "staging"}}, False),
    ({"text": {"$contains": ["deploy"]}}, False),
    ({"count": {"$contains": 3}}, False),
    ({"user": {"$contains": "name"}}, False),
    ({"absent": {"$contains": "a"}}, False),
    # $exists.
    ({"intent": {"$exists": True}}, True),
    ({"nothing": {"$exists": True}}, True),
    ({"absent": {"$exists": True}}, False),
    ({"absent": {"$exists": False}}, True),
    ({"intent": {"$exists": False}}, False),
    ({"user.address.city": {"$exists": True}}, True),
    ({"intent": {"$exists": "yes"}}, False),
    # $regex.
    ({"text": {"$regex": "^deploy"}}, True),
    ({"text": {"$regex": "(?i)PRODUCTION"}}, True),
    ({"text": {"$regex": "生产$"}}, True),
    ({"text": {"$regex": "^production"}}, False),
    ({"count": {"$regex": "3"}}, False),
    ({"absent": {"$regex": ".*"}}, False),
    ({"text": {"$regex": "(?=deploy)"}}, False),
    ({"text": {"$regex": "(d)\\1?"}}, False),
    ({"text": {"$regex": "["}}, False),
    ({"text": {"$regex": 3}}, False),
    ({"text": {"$regex": "d" + "e?" * 128}}, False),
    # $and, $or and $not, at the top and inside a path.
    ({"$and": [{"intent": "json"}, {"count": 3}]}, True),
    ({"$and": [{"intent": "json"}, {"count": 4}]}, False),
    ({"$and": []}, False),
    ({"$and": {"intent": "json"}}, False),
    ({"$or": [{"intent": "xml"}, {"count": 3}]}, True),
    ({"$or": [{"intent": "xml"}, {"count": 4}]}, False),
    ({"$or": []}, False),
    ({"$not": {"intent": "xml"}}, True),
    ({"$not": {"intent": "json"}}, False),
    ({"$not": {"absent": "x"}}, True),
    ({"$not": {"$or": [{"intent": "xml"}, {"count": 4}]}}, True),
    ({"intent": {"$not": {"$in": ["xml", "yaml"]}}}, True),
    ({"intent": {"$not": "json"}}, False),
    ({"absent": {"$not": {"$exists": True}}}, True),
    ({"intent": {"$or": ["xml", "json"]}}, True),
    ({"count": {"$or": [{"$lt": 1}, {"$gt": 2}]}}, True),
    ({"user": {"$and": [{"name": "Ada"}, {"tier": "pro"}]}}, True),
    ({"user": {"name": "Ada", "$not": {"tier": "free"}}}, True),
    ({"intent": "json", "$or": [{"flag": False}, {"off": False}]}, True),
    ({"intent": "xml", "$or": [{"flag": True}]}, False),
    # Unknown operators never match.
    ({"intent": {"$like": "json"}}, False),
    ({"$where": "true"}, False),
    ({"intent": {"$eq": "json", "$like": "json"}}, False),
]


def test_condition_matches() -> None:
    for condition, holds in CASES:
        assert compile_condition(condition).matches(CONTEXT) is holds, condition


def test_other_context_matches_only_the_empty_condition() -> None:
    contexts: tuple[Any, ...] = (None, [], "json", 3, True)
    for context in contexts:
        assert not compile_condition({"intent": "json"}).matches(context), context
        assert compile_condition({}).matches(context), context


@pytest.mark.parametrize(
    ("condition", "paths"),
    [
        ({}, ()),
        ({"a": 1}, ("a",)),
        ({"a": {"b": 1, "c": {"$gt": 2}}}, ("a.b", "a.c")),
        ({"a.b": 1, "a": {"b": 1}}, ("a.b",)),
        ({"$or": [{"a": 1}, {"b": 2}, {"a": 3}]}, ("a", "b")),
        ({"a": {"$not": {"$in": [1]}}}, ("a",)),
        ({"$not": {"a": {"b": None}}}, ("a.b",)),
        ({"a": {"$gt": 1, "$lt": 3}}, ("a",)),
        ({"a": {}, "b": []}, ("a", "b")),
    ],
)
def test_paths_of_a_condition(condition: dict[str, Any], paths: tuple[str, ...]) -> None:
    assert compile_condition(condition).paths == paths


@pytest.mark.parametrize(
    ("condition", "needs"),
    [
        ({"a": "x", "b": 1}, {("a", "x")}),
        ({"a": {"$eq": "x", "$exists": True}}, {("a", "x")}),
        ({"$and": [{"a": "x"}, {"b.c": "y"}]}, {("a", "x"), ("b.c", "y")}),
        ({"$or": [{"a": "x"}]}, set()),
        ({"$not": {"a": "x"}}, set()),
        ({"a": {"b": "x"}}, set()),
    ],
)
def test_required_equalities_of_a_condition(
    condition: dict[str, Any], needs: set[tuple[str, Any]]
) -> None:
    assert set(compile_condition(condition).equalities) == needs


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*b", "(.*a){20}", "(x+x+)+y"])
def test_hostile_pattern_takes_linear_time(pattern: str) -> None:
    test = compile_condition({"text": {"$regex": pattern}})
    assert_linear(lambda size: test.matches({"text": "a" * size}), 20_000)


@pytest.mark.parametrize("values", [NAMES, NUMBERS])
@pytest.mark.parametrize("operator", ["", "$contains"])
def test_long_lists_take_linear_time(values: list[Any], operator: str) -> None:
    test = compile_condition({"tags": {operator: values} if operator else values})
    assert_linear(lambda size: test.matches({"tags": values[:-1] * (size // 199)}), 20_000)


def test_contained_objects_take_linear_time() -> None:
    def match(size: int) -> bool:
        objects = [{"n": n} for n in range(size)]
        condition = compile_condition({"tags": {"$contains": objects}})
        return condition.matches({"tags": objects[::-1]})

    assert match(3)
    assert_linear(match, 2_000)


@pytest.mark.parametrize(
    "condition",
    [{"n": [{"a": 1}]}, {"n": [1]}, {"n": {"$contains": {"a": 1}}}, {"text": {"$regex": "a"}}],
)
def test_time_of_long_values_is_limited(condition: dict[str, Any]) -> None:
    test, context = compile_condition(condition), {"n": [{"a": 1}, 1], "text": "a"}
    assert test.matches(context)
    with limit_time(-1.0), pytest.raises(TooSlow):
        test.matches(context)
    assert test.matches(context)
