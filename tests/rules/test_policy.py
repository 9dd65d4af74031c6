"""What several rules say together: the whole table."""

from typing import Any

import pytest

from rules.evaluation.policy import Rank, RankedEffect, merge_effects

JSON = {"output": {"format": "json"}}
TEXT = {"output": {"format": "text"}}
STRICT = {"output": {"strict": True}}


def rule(name: str, then: dict[str, Any], age: int = 0, **rank: Any) -> RankedEffect:
    values = {"priority": 0, "weight": 1.0, "positive": 0, "negative": 0, "specificity": 1, **rank}
    return RankedEffect(id=name, then=then, rank=Rank(**values), age=(age,))


def tool(**lists: list[str]) -> dict[str, Any]:
    return {"tool": lists}


@pytest.mark.parametrize(
    ("rank", "score"),
    [
        ({}, 1),
        ({"specificity": 4}, 4),
        ({"priority": 2}, 2001),
        ({"priority": -100}, -99999),
        ({"positive": 3, "negative": 1}, 201),
        ({"positive": 1, "negative": 3}, -199),
        ({"positive": 3, "weight": 0.5}, 151),
        ({"positive": 3, "weight": 0.0}, 1),
        ({"priority": 1, "positive": 1, "weight": 2.0, "specificity": 2}, 1202),
    ],
)
def test_the_rank_of_a_rule(rank: dict[str, Any], score: float) -> None:
    assert rule("a", {}, **rank).rank.score == score


@pytest.mark.parametrize(
    ("said", "values"),
    [
        ([], {}),
        ([rule("a", JSON)], JSON),
        ([rule("a", JSON), rule("b", STRICT)], {"output": {"format": "json", "strict": True}}),
        ([rule("a", JSON, priority=1), rule("b", TEXT)], JSON),
        ([rule("a", JSON), rule("b", TEXT, priority=1)], TEXT),
        ([rule("a", JSON, specificity=2), rule("b", TEXT)], JSON),
        ([rule("a", JSON, positive=1), rule("b", TEXT, specificity=9)], JSON),
        ([rule("a", JSON, negative=1), rule("b", TEXT)], TEXT),
        ([rule("a", JSON, priority=-1, positive=9), rule("b", TEXT)], TEXT),
        ([rule("a", JSON, age=1), rule("b", TEXT, age=2)], TEXT),
        ([rule("b", JSON, age=1), rule("a", TEXT, age=1)], JSON),
        (
            [
                rule("a", {"extensions": {"x": {"y": 1}}}),
                rule("b", {"extensions": {"x": {"z": 2}}}),
            ],
            {"extensions": {"x": {"y": 1, "z": 2}}},
        ),
        (
            [
                rule("a", {"extensions": {"x": [1]}}),
                rule("b", {"extensions": {"x": [2]}}, priority=1),
            ],
            {"extensions": {"x": [2]}},
        ),
        (
            [
                rule("a", {"extensions": {"x": {"y": 1}}}),
                rule("b", {"extensions": {"x": 3}}, priority=1),
            ],
            {"extensions": {"x": 3}},
        ),
        (
            [
                rule("a", {"extensions": {"x": 3}}),
                rule("b", {"extensions": {"x": {"y": 1}}}, priority=1),
            ],
            {"extensions": {"x": {"y": 1}}},
        ),
        (
            [
                rule("a", {"extensions": {"x": 1}}),
                rule("b", {"extensions": {"x": None}}, priority=1),
            ],
            {"extensions": {"x": None}},
        ),
        ([rule("a", {"extensions": {"a\x1fb": 1}})], {"extensions": {"a": {"b": 1}}}),
    ],
    ids=range(17),
)
def test_the_higher_rule_wins_a_value(said: list[RankedEffect], values: dict[str, Any]) -> None:
    assert merge_effects(said).values == values
    assert merge_effects(said[::-1]).values == values, "whatever the order they come in"


@pytest.mark.parametrize(
    ("said", "clashes"),
    [
        ([rule("a", JSON), rule("b", JSON)], []),
        ([rule("a", JSON), rule("b", STRICT)], []),
        (
            [rule("a", JSON, priority=1), rule("b", TEXT)],
            [("output.format", "a", ("b",), "value_overridden", "priority 1 over 0")],
        ),
        (
            [rule("a", JSON, positive=1), rule("b", TEXT)],
            [("output.format", "a", ("b",), "value_overridden", "evidence 100 over 0")],
        ),
        (
            [rule("a", JSON, specificity=3), rule("b", TEXT)],
            [("output.format", "a", ("b",), "value_overridden", "3 condition paths over 1")],
        ),
        (
            [rule("a", JSON, age=1), rule("b", TEXT)],
            [("output.format", "a", ("b",), "value_overridden", "equal rank: the younger rule")],
        ),
        (
            [rule("a", JSON, priority=2), rule("b", TEXT), rule("c", JSON, priority=1)],
            [("output.format", "a", ("b",), "value_overridden", "priority 2 over 0")],
        ),
        (
            [
                rule("a", {"extensions": {"n": 1}}, priority=1),
                rule("b", {"extensions": {"n": True}}),
            ],
            [("extensions.n", "a", ("b",), "value_overridden", "priority 1 over 0")],
        ),
        (
            [rule("a", tool(deny=["x"])), rule("b", tool(prefer=["x"]), priority=9)],
            [("tool.x", "a", ("b",), "preferred_but_denied", "a denied tool stays denied")],
        ),
        (
            [rule("a", tool(deny=["x"])), rule("b", tool(allow=["x", "y"]))],
            [("tool.x", "a", ("b",), "allowed_but_denied", "a denied tool stays denied")],
        ),
        ([rule("a", tool(deny=["x"], prefer=["x"]))], []),
        (
            [rule("a", tool(allow=["x"]), priority=1), rule("b", tool(allow=["y"]))],
            [
                (
                    "tool.allow",
                    "a",
                    ("b",),
                    "allow_intersection_empty",
                    "no tool is on every allow-list",
                )
            ],
        ),
        ([rule("a", tool(allow=["x", "y"])), rule("b", tool(allow=["y"]))], []),
    ],
    ids=range(13),
)
def test_who_loses_is_told_why(said: list[RankedEffect], clashes: list[tuple[Any, ...]]) -> None:
    found = merge_effects(said).clashes
    assert [(c.path, c.winner, c.losers, c.code, c.reason) for c in found] == clashes


@pytest.mark.parametrize(
    ("said", "allow", "deny", "prefer"),
    [
        ([], None, (), ()),
        ([rule("a", tool(deny=["x"])), rule("b", tool(deny=["y", "x"]))], None, ("x", "y"), ()),
        ([rule("a", tool(allow=["x", "y"]))], ("x", "y"), (), ()),
        ([rule("a", tool(allow=["x", "y"])), rule("b", tool(allow=["y", "z"]))], ("y",), (), ()),
        ([rule("a", tool(allow=["x"])), rule("b", tool(allow=["y"]))], (), (), ()),
        ([rule("a", tool(allow=[]))], (), (), ()),
        (
            [rule("a", tool(prefer=["x"])), rule("b", tool(prefer=["y"]), priority=1)],
            None,
            (),
            ("y", "x"),
        ),
        (
            [rule("a", tool(prefer=["x", "y"])), rule("b", tool(prefer=["y", "z"]), priority=1)],
            None,
            (),
            ("y", "z", "x"),
        ),
        (
            [rule("a", tool(prefer=["y"], deny=["x"])), rule("b", tool(prefer=["x"]))],
            None,
            ("x",),
            ("x", "y"),
        ),
        ([rule("a", {"tool": "x"}), rule("b", {"tool": {"deny": "x"}})], None, (), ()),
    ],
    ids=range(10),
)
def test_what_rules_say_of_tools(
    said: list[RankedEffect], allow: Any, deny: tuple[str, ...], prefer: tuple[str, ...]
) -> None:
    policy = merge_effects(said)
    assert (policy.allow, policy.deny, policy.prefer) == (allow, deny, prefer)
    assert ("allow" in policy.body()["tool"]) == (allow is not None)


def test_what_a_rule_says_is_not_filled_by_another() -> None:
    says_little = rule("a", {"output": {}})
    both = merge_effects([says_little, rule("b", JSON, priority=2)])
    assert both.values == JSON
    assert merge_effects([says_little]).values == {"output": {}}
