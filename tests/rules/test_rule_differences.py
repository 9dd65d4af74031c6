"""Differences between a rule and its active version, in words."""

from typing import Any

import pytest

from rules.editing.rendering import compared

SAID: dict[str, Any] = {
    "if": {"intent": "refund"},
    "then": {"tool": {"deny": ["refund"]}},
    "exceptions": [],
    "priority": 0,
    "weight": 1.0,
    "audience_id": "",
}


@pytest.mark.parametrize(
    ("change", "lines"),
    [
        ({}, []),
        (
            {"if": {"intent": "refund", "amount": {"$gt": 5}}},
            [("ins", "If", 0, "amount is greater than 5")],
        ),
        ({"if": {}}, [("del", "If", 0, 'intent is "refund"'), ("ins", "If", 0, "Always")]),
        (
            {"if": {"$or": [{"intent": "refund"}]}},
            [
                ("del", "If", 0, 'intent is "refund"'),
                ("ins", "If", 0, "any of the following matches"),
                ("ins", "If", 1, 'intent is "refund"'),
            ],
        ),
        (
            {"exceptions": [{"user.role": "staff"}]},
            [("ins", "Unless", 0, 'user.role is "staff"')],
        ),
        (
            {"then": {"tool": {"prefer": ["a", "b"]}}},
            [("del", "Then", 0, "denies refund"), ("ins", "Then", 0, "prefers a, b")],
        ),
        ({"audience_id": "bot"}, [("del", "For", 0, "everyone"), ("ins", "For", 0, "bot")]),
        ({"priority": 7}, [("del", "Priority", 0, "0"), ("ins", "Priority", 0, "7")]),
        ({"weight": 2.0}, [("del", "Weight", 0, "1.0"), ("ins", "Weight", 0, "2.0")]),
    ],
)
def test_what_is_different_is_told_line_by_line(
    change: dict[str, Any], lines: list[tuple[Any, ...]]
) -> None:
    found = [(mark, *_seen(line)) for mark, line in compared(SAID, {**SAID, **change}) if mark]
    assert found == lines


def _seen(line: Any) -> tuple[str, int, str]:
    return line.part, line.depth, line.text
