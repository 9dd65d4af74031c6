"""What several rules say together: the whole table."""

from typing import Any

import pytest

from rules.evaluation.policy import Rank, Voice, merged

JSON = {"output": {"format": "json"}}
TEXT = {"output": {"format": "text"}}
STRICT = {"output": {"strict": True}}


def voice(name: str, then: dict[str, Any], age: int = 0, **rank: Any) -> Voice:
    values = {"priority": 0, "weight": 1.0, "positive": 0, "negative": 0, "specificity": 1, **rank}
    return Voice(id=name, then=then, rank=Rank(**values), age=(age,))


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
    assert voice("a", {}, **rank).rank.score == score


@pytest.mark.parametrize(
    ("said", "values"),
    [
        ([], {}),
        ([voice("a", JSON)], JSON),
        ([voice("a", JSON), voice("b", STRICT)], {"output": {"format": "json", "strict": True}}),
        ([voice("a", JSON, priority=1), voice("b", TEXT)], JSON),
        ([voice("a", JSON), voice("b", TEXT, priority=1)], TEXT),
        ([voice("a", JSON, specificity=2), voice("b", TEXT)], JSON),
        ([voice("a", JSON, positive=1), voice("b", TEXT, specificity=9)], JSON),
        ([voice("a", JSON, negative=1), voice("b", TEXT)], TEXT),
        ([voice("a", JSON, priority=-1, positive=9), voice("b", TEXT)], TEXT),
        ([voice("a", JSON, age=1), voice("b", TEXT, age=2)], TEXT),
        ([voice("b", JSON, age=1), voice("a", TEXT, age=1)], JSON),
        (
            [
                voice("a", {"extensions": {"x": {"y": 1}}}),
                voice("b", {"extensions": {"x": {"z": 2}}}),
            ],
            {"extensions": {"x": {"y": 1, "z": 2}}},
        ),
        (
            [
                voice("a", {"extensions": {"x": [1]}}),
                voice("b", {"extensions": {"x": [2]}}, priority=1),
            ],
            {"extensions": {"x": [2]}},
        ),
        (
            [
                voice("a", {"extensions": {"x": {"y": 1}}}),
                voice("b", {"extensions": {"x": 3}}, priority=1),
            ],
            {"extensions": {"x": 3}},
        ),
        (
            [
                voice("a", {"extensions": {"x": 3}}),
                voice("b", {"extensions": {"x": {"y": 1}}}, priority=1),
            ],
            {"extensions": {"x": {"y": 1}}},
        ),
        (
            [
                voice("a", {"extensions": {"x": 1}}),
                voice("b", {"extensions": {"x": None}}, priority=1),
            ],
            {"extensions": {"x": None}},
        ),
        ([voice("a", {"extensions": {"a\x1fb": 1}})], {"extensions": {"a": {"b": 1}}}),
    ],
    ids=range(17),
)
def test_the_higher_rule_wins_a_value(said: list[Voice], values: dict[str, Any]) -> None:
    assert merged(said).values == values
    assert merged(said[::-1]).values == values, "whatever the order they come in"


@pytest.mark.parametrize(
    ("said", "clashes"),
    [
        ([voice("a", JSON), voice("b", JSON)], []),
        ([voice("a", JSON), voice("b", STRICT)], []),
        (
            [voice("a", JSON, priority=1), voice("b", TEXT)],
            [("output.format", "a", ("b",), "value_overridden", "priority 1 over 0")],
        ),
        (
            [voice("a", JSON, positive=1), voice("b", TEXT)],
            [("output.format", "a", ("b",), "value_overridden", "evidence 100 over 0")],
        ),
        (
            [voice("a", JSON, specificity=3), voice("b", TEXT)],
            [("output.format", "a", ("b",), "value_overridden", "3 condition paths over 1")],
        ),
        (
            [voice("a", JSON, age=1), voice("b", TEXT)],
            [("output.format", "a", ("b",), "value_overridden", "equal rank: the younger rule")],
        ),
        (
            [voice("a", JSON, priority=2), voice("b", TEXT), voice("c", JSON, priority=1)],
            [("output.format", "a", ("b",), "value_overridden", "priority 2 over 0")],
        ),
        (
            [
                voice("a", {"extensions": {"n": 1}}, priority=1),
                voice("b", {"extensions": {"n": True}}),
            ],
            [("extensions.n", "a", ("b",), "value_overridden", "priority 1 over 0")],
        ),
        (
            [voice("a", tool(deny=["x"])), voice("b", tool(prefer=["x"]), priority=9)],
            [("tool.x", "a", ("b",), "preferred_but_denied", "a denied tool stays denied")],
        ),
        (
            [voice("a", tool(deny=["x"])), voice("b", tool(allow=["x", "y"]))],
            [("tool.x", "a", ("b",), "allowed_but_denied", "a denied tool stays denied")],
        ),
        ([voice("a", tool(deny=["x"], prefer=["x"]))], []),
        (
            [voice("a", tool(allow=["x"]), priority=1), voice("b", tool(allow=["y"]))],
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
        ([voice("a", tool(allow=["x", "y"])), voice("b", tool(allow=["y"]))], []),
    ],
    ids=range(13),
)
def test_who_loses_is_told_why(said: list[Voice], clashes: list[tuple[Any, ...]]) -> None:
    found = merged(said).clashes
    assert [(c.path, c.winner, c.losers, c.code, c.reason) for c in found] == clashes


@pytest.mark.parametrize(
    ("said", "allow", "deny", "prefer"),
    [
        ([], None, (), ()),
        ([voice("a", tool(deny=["x"])), voice("b", tool(deny=["y", "x"]))], None, ("x", "y"), ()),
        ([voice("a", tool(allow=["x", "y"]))], ("x", "y"), (), ()),
        ([voice("a", tool(allow=["x", "y"])), voice("b", tool(allow=["y", "z"]))], ("y",), (), ()),
        ([voice("a", tool(allow=["x"])), voice("b", tool(allow=["y"]))], (), (), ()),
        ([voice("a", tool(allow=[]))], (), (), ()),
        (
            [voice("a", tool(prefer=["x"])), voice("b", tool(prefer=["y"]), priority=1)],
            None,
            (),
            ("y", "x"),
        ),
        (
            [voice("a", tool(prefer=["x", "y"])), voice("b", tool(prefer=["y", "z"]), priority=1)],
            None,
            (),
            ("y", "z", "x"),
        ),
        (
            [voice("a", tool(prefer=["y"], deny=["x"])), voice("b", tool(prefer=["x"]))],
            None,
            ("x",),
            ("x", "y"),
        ),
        ([voice("a", {"tool": "x"}), voice("b", {"tool": {"deny": "x"}})], None, (), ()),
    ],
    ids=range(10),
)
def test_what_rules_say_of_tools(
    said: list[Voice], allow: Any, deny: tuple[str, ...], prefer: tuple[str, ...]
) -> None:
    policy = merged(said)
    assert (policy.allow, policy.deny, policy.prefer) == (allow, deny, prefer)
    assert ("allow" in policy.body()["tool"]) == (allow is not None)


def test_what_a_rule_says_is_not_filled_by_another() -> None:
    says_little = voice("a", {"output": {}})
    both = merged([says_little, voice("b", JSON, priority=2)])
    assert both.values == JSON
    assert merged([says_little]).values == {"output": {}}
