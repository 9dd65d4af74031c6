"""The policy merged from the effects of several rules, and the tool selected by it."""

from typing import Any

import pytest

from rules.evaluation.policy import Policy, Rank, RankedEffect, merge_effects
from rules.evaluation.tool_selection import select_tool

JSON = {"output": {"format": "json"}}
TEXT = {"output": {"format": "text"}}
STRICT = {"output": {"strict": True}}


def rule(name: str, then: dict[str, Any], age: int = 0, **rank: Any) -> RankedEffect:
    values = {"priority": 0, "weight": 1.0, "positive": 0, "negative": 0, "specificity": 1, **rank}
    return RankedEffect(id=name, then=then, rank=Rank(**values), age=(age,))


def extends(name: str, value: Any, **rank: Any) -> RankedEffect:
    return rule(name, {"extensions": {"x": value}}, **rank)


def tools(name: str = "a", priority: int = 0, **lists: Any) -> RankedEffect:
    return rule(name, {"tool": lists}, priority=priority)


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
def test_rank_is_computed_from_its_parts(rank: dict[str, Any], score: float) -> None:
    assert rule("a", {}, **rank).rank.score == score


@pytest.mark.parametrize(
    ("effects", "values"),
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
        ([extends("a", {"y": 1}), extends("b", {"z": 2})], {"extensions": {"x": {"y": 1, "z": 2}}}),
        ([extends("a", [1]), extends("b", [2], priority=1)], {"extensions": {"x": [2]}}),
        ([extends("a", {"y": 1}), extends("b", 3, priority=1)], {"extensions": {"x": 3}}),
        ([extends("a", 3), extends("b", {"y": 1}, priority=1)], {"extensions": {"x": {"y": 1}}}),
        ([extends("a", 1), extends("b", None, priority=1)], {"extensions": {"x": None}}),
        ([rule("a", {"extensions": {"a\x1fb": 1}})], {"extensions": {"a": {"b": 1}}}),
    ],
    ids=range(17),
)
def test_higher_rule_wins_a_value(effects: list[RankedEffect], values: dict[str, Any]) -> None:
    assert merge_effects(effects).values == values
    assert merge_effects(effects[::-1]).values == values, "in any order"


@pytest.mark.parametrize(
    ("effects", "clash"),
    [
        ([rule("a", JSON), rule("b", JSON)], None),
        ([rule("a", JSON), rule("b", STRICT)], None),
        ([rule("a", JSON, priority=1), rule("b", TEXT)], "priority 1 over 0"),
        ([rule("a", JSON, positive=1), rule("b", TEXT)], "evidence 100 over 0"),
        ([rule("a", JSON, positive=11), rule("b", TEXT, priority=1)], "evidence 1100 over 0"),
        ([rule("a", JSON, specificity=3), rule("b", TEXT)], "3 condition paths over 1"),
        ([rule("a", JSON, age=1), rule("b", TEXT)], "equal rank: the younger rule"),
        (
            [rule("a", JSON, positive=10, age=1), rule("b", TEXT, priority=1)],
            "equal rank: the younger rule",
        ),
        (
            [rule("a", JSON, priority=2), rule("b", TEXT), rule("c", JSON, priority=1)],
            "priority 2 over 0",
        ),
        (
            [extends("a", 1, priority=1), extends("b", value=True)],
            ("extensions.x", "value_overridden", "priority 1 over 0"),
        ),
        (
            [extends("a", [1], priority=1), extends("b", [True])],
            ("extensions.x", "value_overridden", "priority 1 over 0"),
        ),
        ([extends("a", 1), extends("b", 1.0)], None),
        (
            [tools(deny=["x"]), tools("b", prefer=["x"], priority=9)],
            ("tool.x", "preferred_but_denied", "a denied tool stays denied"),
        ),
        (
            [tools(deny=["x"]), tools("b", allow=["x", "y"])],
            ("tool.x", "allowed_but_denied", "a denied tool stays denied"),
        ),
        ([tools(deny=["x"], prefer=["x"])], None),
        (
            [tools(allow=["x"], priority=1), tools("b", allow=["y"])],
            ("tool.allow", "allow_intersection_empty", "no tool is on every allow-list"),
        ),
        ([tools(allow=["x", "y"]), tools("b", allow=["y"])], None),
    ],
    ids=range(17),
)
def test_a_overrules_b_for_the_stated_reason(effects: list[RankedEffect], clash: Any) -> None:
    if isinstance(clash, str):
        clash = ("output.format", "value_overridden", clash)
    expected = [(clash[0], "a", ("b",), *clash[1:])] if clash else []
    results = merge_effects(effects).conflicts
    assert [(c.path, c.winner, c.losers, c.code, c.reason) for c in results] == expected


@pytest.mark.parametrize(
    ("effects", "allow", "deny", "prefer"),
    [
        ([], None, (), ()),
        ([tools(deny=["x"]), tools("b", deny=["y", "x"])], None, ("x", "y"), ()),
        ([tools(allow=["x", "y"])], ("x", "y"), (), ()),
        ([tools(allow=["x", "y"]), tools("b", allow=["y", "z"])], ("y",), (), ()),
        ([tools(allow=["x"]), tools("b", allow=["y"])], (), (), ()),
        ([tools(allow=[])], (), (), ()),
        ([tools(prefer=["x"]), tools("b", 1, prefer=["y"])], None, (), ("y", "x")),
        ([tools(prefer=["x", "y"]), tools("b", 1, prefer=["y", "z"])], None, (), ("y", "z", "x")),
        ([tools(prefer=["y"], deny=["x"]), tools("b", prefer=["x"])], None, ("x",), ("x", "y")),
        ([rule("a", {"tool": "x"}), tools("b", deny="x")], None, (), ()),
    ],
    ids=range(10),
)
def test_lists_of_tools_are_combined(
    effects: list[RankedEffect], allow: Any, deny: tuple[str, ...], prefer: tuple[str, ...]
) -> None:
    policy = merge_effects(effects)
    assert (policy.allow, policy.deny, policy.prefer) == (allow, deny, prefer)
    assert ("allow" in policy.body()["tool"]) == (allow is not None)


def test_empty_object_is_kept_until_a_rule_fills_it() -> None:
    says_little = rule("a", {"output": {}})
    both = merge_effects([says_little, rule("b", JSON, priority=2)])
    assert both.values == JSON
    assert merge_effects([says_little]).values == {"output": {}}


CANDIDATES = ["bash", "curl", "grep"]
UNLISTED, DENIED = "not_in_allow_list", "deny_list"
ALLOW_FILTERED, DENY_FILTERED = "allowlist_filtered_all", "deny_filtered_all"


@pytest.mark.parametrize(
    ("strict", "lists", "ordered", "denied", "fallback"),
    [
        (True, {}, "bash curl grep", {}, "none"),
        (True, {"deny": ["bash"]}, "curl grep", {"bash": DENIED}, "none"),
        (True, {"allow": ["grep"]}, "grep", {"bash": UNLISTED, "curl": UNLISTED}, "none"),
        (
            True,
            {"allow": ["grep", "bash"], "deny": ["bash"]},
            "grep",
            {"bash": DENIED, "curl": UNLISTED},
            "none",
        ),
        (True, {"prefer": ["grep"]}, "grep bash curl", {}, "none"),
        (True, {"prefer": ["grep", "curl"]}, "grep curl bash", {}, "none"),
        (True, {"prefer": ["grep"], "deny": ["grep"]}, "bash curl", {"grep": DENIED}, "none"),
        (True, {"prefer": ["vim"]}, "bash curl grep", {}, "none"),
        (True, {"allow": ["vim"]}, "", dict.fromkeys(CANDIDATES, UNLISTED), ALLOW_FILTERED),
        (False, {"allow": ["vim"]}, "bash curl grep", {}, ALLOW_FILTERED),
        (
            False,
            {"allow": ["vim"], "deny": ["bash"], "prefer": ["grep"]},
            "grep curl",
            {"bash": DENIED},
            ALLOW_FILTERED,
        ),
        (True, {"allow": []}, "", dict.fromkeys(CANDIDATES, UNLISTED), ALLOW_FILTERED),
        (True, {"deny": CANDIDATES}, "", dict.fromkeys(CANDIDATES, DENIED), DENY_FILTERED),
        (False, {"deny": CANDIDATES}, "", dict.fromkeys(CANDIDATES, DENIED), DENY_FILTERED),
        (
            False,
            {"allow": ["grep"], "deny": ["grep"]},
            "bash curl",
            {"grep": DENIED},
            ALLOW_FILTERED,
        ),
    ],
    ids=range(15),
)
def test_first_remaining_tool_is_selected(
    lists: dict[str, Any], *, strict: bool, ordered: str, denied: dict[str, str], fallback: str
) -> None:
    """The fallback ignores the allow-lists; it applies if not strict."""
    chosen = select_tool(merge_effects([tools(**lists)]), CANDIDATES, strict=strict)
    order = tuple(ordered.split())
    assert (chosen.selected, chosen.ordered) == (order[0] if order else None, order)
    assert (dict(chosen.denied), chosen.fallback_reason) == (denied, fallback)
    assert chosen.fallback_applied == (fallback == ALLOW_FILTERED and not strict)


def test_repeated_candidate_counts_once() -> None:
    assert select_tool(Policy(), ["a", "b", "a"], strict=True).candidates == ("a", "b")
