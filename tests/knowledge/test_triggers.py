"""Lore: a table of what fires, what finds room, and what stays silent."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from knowledge.lore.triggers import Entry, Outcome, Rules, evaluate


def book(*entries: Mapping[str, Any]) -> list[Entry]:
    return [
        Entry(**{"id": "abcdefgh"[i], "content": "x", **each}) for i, each in enumerate(entries)
    ]


def words(text: str) -> int:
    return len(text.split())


def run(entries: list[Entry], said: Sequence[str], **more: Any) -> Outcome:
    state = more.pop("state", None)
    return evaluate(entries, said, rules=Rules(**more), count=words, state=state)


def ids(outcome: Outcome) -> str:
    return "".join(each.entry.id for each in outcome.included)


DRAGON = {"keys": ["dragon"]}
# What the entries are, what was said, the rules, and who is in.
CASES: list[tuple[str, list[dict[str, Any]], list[str], dict[str, Any], str]] = [
    ("a key fires", [DRAGON], ["A dragon came."], {}, "a"),
    ("no key, no fire", [DRAGON], ["A cat came."], {}, ""),
    ("no messages", [DRAGON], [], {}, ""),
    ("case is ignored", [DRAGON], ["DRAGON!"], {}, "a"),
    ("case-sensitive", [{**DRAGON, "case_sensitive": True}], ["Dragon"], {}, ""),
    ("case counts and fits", [{**DRAGON, "case_sensitive": True}], ["dragon"], {}, "a"),
    ("folded case", [{"keys": ["STRASSE"]}], ["die Straße"], {}, "a"),
    ("parts of words fire", [DRAGON], ["dragonfly"], {}, "a"),
    ("whole words only", [{**DRAGON, "whole_words": True}], ["dragonfly"], {}, ""),
    ("whole words at the end", [{**DRAGON, "whole_words": True}], ["a dragon."], {}, "a"),
    ("a later whole word", [{**DRAGON, "whole_words": True}], ["dragonfly, dragon"], {}, "a"),
    ("a Chinese key", [{"keys": ["龙"]}], ["小龙女来了"], {}, "a"),
    ("Chinese has no word ends", [{"keys": ["龙"], "whole_words": True}], ["小龙女"], {}, "a"),
    ("Latin beside Chinese", [{"keys": ["AI"], "whole_words": True}], ["用AI写作"], {}, "a"),
    ("an empty key never fires", [{"keys": [" ", ""]}], ["anything"], {}, ""),
    ("one of several keys", [{"keys": ["wyrm", "dragon"]}], ["dragon"], {}, "a"),
    ("always", [{"constant": True}], ["anything"], {}, "a"),
    ("always, in silence", [{"constant": True}], [], {}, "a"),
    ("not in use", [{**DRAGON, "enabled": False}], ["dragon"], {}, ""),
    ("too long ago", [DRAGON], ["dragon", "b", "c"], {"scan_depth": 2}, ""),
    ("its own depth", [{**DRAGON, "scan_depth": 3}], ["dragon", "b", "c"], {"scan_depth": 2}, "a"),
    ("looks at nothing", [DRAGON], ["dragon"], {"scan_depth": 0}, ""),
    ("a pattern", [{"keys": [r"drag(on|oon)s?\b"], "regex": True}], ["two dragoons"], {}, "a"),
    ("a pattern with slashes", [{"keys": ["/DRAGON/i"], "regex": True}], ["dragon"], {}, "a"),
    ("slashes count case", [{"keys": ["/DRAGON/"], "regex": True}], ["dragon"], {}, ""),
    ("a Chinese pattern", [{"keys": ["[龙凤]{2}"], "regex": True}], ["龙凤呈祥"], {}, "a"),
    ("no look-ahead", [{"keys": ["(?=dragon)"], "regex": True}], ["dragon"], {}, ""),
    ("no back reference", [{"keys": [r"(a)\1"], "regex": True}], ["aa"], {}, ""),
    ("catastrophe 1", [{"keys": ["(a+)+$"], "regex": True}], ["a" * 50_000 + "b"], {}, ""),
    ("catastrophe 2", [{"keys": ["(.*a){20}$"], "regex": True}], ["a" * 20_000 + "b"], {}, ""),
    ("secondary: any", [{**DRAGON, "secondary_keys": ["fire", "ice"]}], ["dragon, ice"], {}, "a"),
    ("secondary: none said", [{**DRAGON, "secondary_keys": ["fire"]}], ["dragon"], {}, ""),
    (
        "secondary: all",
        [{**DRAGON, "secondary_keys": ["fire", "ice"], "secondary_logic": "and_all"}],
        ["dragon fire"],
        {},
        "",
    ),
    (
        "secondary: not any",
        [{**DRAGON, "secondary_keys": ["toy"], "secondary_logic": "not_any"}],
        ["toy dragon"],
        {},
        "",
    ),
    (
        "secondary: not all",
        [{**DRAGON, "secondary_keys": ["toy", "red"], "secondary_logic": "not_all"}],
        ["toy dragon"],
        {},
        "a",
    ),
    ("recursion", [{**DRAGON, "content": "hoards gold"}, {"keys": ["gold"]}], ["dragon"], {}, "ab"),
    (
        "two rounds",
        [
            {**DRAGON, "content": "gold"},
            {"keys": ["gold"], "content": "ring"},
            {"keys": ["ring"], "content": "y"},
        ],
        ["dragon"],
        {},
        "abc",
    ),
    (
        "recursion ends",
        [
            {**DRAGON, "content": "gold"},
            {"keys": ["gold"], "content": "ring"},
            {"keys": ["ring"], "content": "y"},
        ],
        ["dragon"],
        {"max_recursion": 1},
        "ab",
    ),
    (
        "no recursion",
        [{**DRAGON, "content": "gold"}, {"keys": ["gold"]}],
        ["dragon"],
        {"max_recursion": 0},
        "a",
    ),
    (
        "a circle",
        [{**DRAGON, "content": "gold"}, {"keys": ["gold"], "content": "dragon"}],
        ["dragon"],
        {},
        "ab",
    ),
    (
        "calls up nobody",
        [{**DRAGON, "content": "gold", "recursive": False}, {"keys": ["gold"]}],
        ["dragon"],
        {},
        "a",
    ),
    (
        "is called up by nobody",
        [{**DRAGON, "content": "gold"}, {"keys": ["gold"], "recursable": False}],
        ["dragon"],
        {},
        "a",
    ),
    ("another scope", [{**DRAGON, "scope": "shop"}], ["dragon"], {}, ""),
    ("its scope", [{**DRAGON, "scope": "shop"}], ["dragon"], {"scope": "shop"}, "a"),
    ("every scope", [DRAGON], ["dragon"], {"scope": "shop"}, "a"),
    (
        "equal texts once",
        [{**DRAGON, "content": "same  text"}, {**DRAGON, "content": "same text"}],
        ["dragon"],
        {},
        "a",
    ),
    ("the higher one of equals", [DRAGON, {**DRAGON, "priority": 1}], ["dragon"], {}, "b"),
    ("no room", [{**DRAGON, "content": "one two three"}], ["dragon"], {"budget": 2}, ""),
    ("just enough room", [{**DRAGON, "content": "one two"}], ["dragon"], {"budget": 2}, "a"),
    (
        "priority finds room first",
        [{**DRAGON, "content": "a a"}, {**DRAGON, "content": "b b", "priority": 5}],
        ["dragon"],
        {"budget": 3},
        "b",
    ),
    (
        "a tie goes by order",
        [{**DRAGON, "content": "a a", "order": 9}, {**DRAGON, "content": "b b", "order": 1}],
        ["dragon"],
        {"budget": 2},
        "b",
    ),
    (
        "a full tie goes by id",
        [{**DRAGON, "content": "a a"}, {**DRAGON, "content": "b b"}],
        ["dragon"],
        {"budget": 2},
        "a",
    ),
    (
        "a smaller one still fits",
        [{**DRAGON, "content": "a a a", "priority": 1}, {**DRAGON, "content": "b"}],
        ["dragon"],
        {"budget": 2},
        "b",
    ),
    (
        "weightless",
        [{**DRAGON, "content": "a a a", "budget_weight": 0.0}],
        ["dragon"],
        {"budget": 0},
        "a",
    ),
    ("heavy", [{**DRAGON, "content": "a a", "budget_weight": 2.0}], ["dragon"], {"budget": 3}, ""),
    (
        "stands by order",
        [{**DRAGON, "order": 2}, {**DRAGON, "order": 1, "content": "y"}],
        ["dragon"],
        {},
        "ba",
    ),
    (
        "stays",
        [{**DRAGON, "sticky": 2}],
        ["dragon", "b", "c"],
        {"scan_depth": 1, "state": {"a": 1}},
        "a",
    ),
    (
        "stays no longer",
        [{**DRAGON, "sticky": 1}],
        ["dragon", "b", "c"],
        {"scan_depth": 1, "state": {"a": 1}},
        "",
    ),
    ("rests", [{**DRAGON, "cooldown": 2}], ["dragon", "dragon"], {"state": {"a": 1}}, ""),
    (
        "has rested",
        [{**DRAGON, "cooldown": 1}],
        ["dragon", "b", "dragon"],
        {"state": {"a": 1}},
        "a",
    ),
    (
        "stays, then rests",
        [{**DRAGON, "sticky": 1, "cooldown": 1}],
        ["d", "b", "dragon"],
        {"state": {"a": 1}},
        "",
    ),
    (
        "another conversation's state",
        [{**DRAGON, "cooldown": 9}],
        ["dragon"],
        {"state": {"a": 7}},
        "a",
    ),
]


@pytest.mark.parametrize(
    ("name", "entries", "said", "rules", "wanted"),
    CASES,
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_what_fires(
    name: str, entries: list[dict[str, Any]], said: list[str], rules: dict[str, Any], wanted: str
) -> None:
    started = time.monotonic()
    assert ids(run(book(*entries), said, **dict(rules))) == wanted, name
    assert time.monotonic() - started < 5, "no pattern takes more than linear time"


def test_the_report_says_why() -> None:
    entries = book(
        {**DRAGON, "content": "hoards gold"},
        {"keys": ["gold"], "content": "a b c"},
        {**DRAGON, "secondary_keys": ["never"]},
        {"keys": ["("], "regex": True},
    )
    outcome = run(entries, ["A dragon!"], budget=3)
    assert [(f.entry.id, f.reason, f.match, f.by, f.round, f.trimmed) for f in outcome.fired] == [
        ("a", "key", "dragon", "", 0, ""),
        ("b", "recursion", "gold", "a", 1, "budget"),
    ]
    assert {(s.entry.id, s.reason) for s in outcome.silent} >= {
        ("c", "secondary"),
        ("d", "pattern"),
    }
    assert (outcome.tokens, outcome.state) == (2, {"a": 1, "b": 1})
