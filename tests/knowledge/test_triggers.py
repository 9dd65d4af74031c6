"""Rules for firing lore entries: keys, budgets, recursion, sticky entries and cooldowns."""

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


def run(entries: list[Entry], messages: Sequence[str], **more: Any) -> Outcome:
    state = more.pop("state", None)
    return evaluate(entries, messages, rules=Rules(**more), count=words, state=state)


def ids(outcome: Outcome) -> str:
    return "".join(each.entry.id for each in outcome.included)


DRAGON: dict[str, Any] = {"keys": ["dragon"]}
HOARD = {**DRAGON, "content": "gold"}
CHAIN = [HOARD, {"keys": ["gold"], "content": "ring"}, {"keys": ["ring"], "content": "y"}]
WITH_TWO_KEYS = {**DRAGON, "secondary_keys": ["toy", "red"]}
FIRED_IN_TURN_1 = {"state": {"a": 1}}
# Name of the case, entries, messages, rules and ids of the included entries.
CASES: list[tuple[str, list[dict[str, Any]], list[str], dict[str, Any], str]] = [
    ("a key fires", [DRAGON], ["A dragon came."], {}, "a"),
    ("no key matches", [DRAGON], ["A cat came."], {}, ""),
    ("no messages", [DRAGON], [], {}, ""),
    ("case is ignored", [DRAGON], ["DRAGON!"], {}, "a"),
    ("case-sensitive", [{**DRAGON, "case_sensitive": True}], ["Dragon"], {}, ""),
    ("case-sensitive match", [{**DRAGON, "case_sensitive": True}], ["dragon"], {}, "a"),
    ("folded case", [{"keys": ["STRASSE"]}], ["die Straße"], {}, "a"),
    ("parts of words fire", [DRAGON], ["dragonfly"], {}, "a"),
    ("whole words only", [{**DRAGON, "whole_words": True}], ["dragonfly"], {}, ""),
    ("whole words at the end", [{**DRAGON, "whole_words": True}], ["a dragon."], {}, "a"),
    ("a later whole word", [{**DRAGON, "whole_words": True}], ["dragonfly, dragon"], {}, "a"),
    ("a Chinese key", [{"keys": ["龙"]}], ["小龙女来了"], {}, "a"),
    ("Chinese has no word ends", [{"keys": ["龙"], "whole_words": True}], ["小龙女"], {}, "a"),
    ("Latin next to Chinese", [{"keys": ["AI"], "whole_words": True}], ["用AI写作"], {}, "a"),
    ("an empty key never fires", [{"keys": [" ", ""]}], ["anything"], {}, ""),
    ("one of several keys", [{"keys": ["wyrm", "dragon"]}], ["dragon"], {}, "a"),
    ("always included", [{"constant": True}], ["anything"], {}, "a"),
    ("constant, without messages", [{"constant": True}], [], {}, "a"),
    ("disabled", [{**DRAGON, "enabled": False}], ["dragon"], {}, ""),
    ("below the scan depth", [DRAGON], ["dragon", "b", "c"], {"scan_depth": 2}, ""),
    ("its own depth", [{**DRAGON, "scan_depth": 3}], ["dragon", "b", "c"], {"scan_depth": 2}, "a"),
    ("scan depth of zero", [DRAGON], ["dragon"], {"scan_depth": 0}, ""),
    ("a pattern", [{"keys": [r"drag(on|oon)s?\b"], "regex": True}], ["two dragoons"], {}, "a"),
    ("a pattern with slashes", [{"keys": ["/DRAGON/i"], "regex": True}], ["dragon"], {}, "a"),
    ("slashes are case-sensitive", [{"keys": ["/DRAGON/"], "regex": True}], ["dragon"], {}, ""),
    ("a Chinese pattern", [{"keys": ["[龙凤]{2}"], "regex": True}], ["龙凤呈祥"], {}, "a"),
    ("no look-ahead", [{"keys": ["(?=dragon)"], "regex": True}], ["dragon"], {}, ""),
    ("no back reference", [{"keys": [r"(a)\1"], "regex": True}], ["aa"], {}, ""),
    ("catastrophe 1", [{"keys": ["(a+)+$"], "regex": True}], ["a" * 50_000 + "b"], {}, ""),
    ("catastrophe 2", [{"keys": ["(.*a){20}$"], "regex": True}], ["a" * 20_000 + "b"], {}, ""),
    ("secondary: any", [{**DRAGON, "secondary_keys": ["fire", "ice"]}], ["dragon, ice"], {}, "a"),
    ("secondary: none matches", [{**DRAGON, "secondary_keys": ["fire"]}], ["dragon"], {}, ""),
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
        [{**WITH_TWO_KEYS, "secondary_logic": "not_all"}],
        ["toy dragon"],
        {},
        "a",
    ),
    ("recursion", [{**DRAGON, "content": "hoards gold"}, {"keys": ["gold"]}], ["dragon"], {}, "ab"),
    ("two rounds", CHAIN, ["dragon"], {}, "abc"),
    ("recursion ends", CHAIN, ["dragon"], {"max_recursion": 1}, "ab"),
    ("no recursion", [HOARD, {"keys": ["gold"]}], ["dragon"], {"max_recursion": 0}, "a"),
    ("a cycle", [HOARD, {"keys": ["gold"], "content": "dragon"}], ["dragon"], {}, "ab"),
    (
        "not recursive",
        [{**DRAGON, "content": "gold", "recursive": False}, {"keys": ["gold"]}],
        ["dragon"],
        {},
        "a",
    ),
    ("not recursable", [HOARD, {"keys": ["gold"], "recursable": False}], ["dragon"], {}, "a"),
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
        "priority is included first",
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
        "a smaller entry still fits",
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
        "included by order",
        [{**DRAGON, "order": 2}, {**DRAGON, "order": 1, "content": "y"}],
        ["dragon"],
        {},
        "ba",
    ),
    (
        "sticky for two turns",
        [{**DRAGON, "sticky": 2}],
        ["dragon", "b", "c"],
        {"scan_depth": 1, **FIRED_IN_TURN_1},
        "a",
    ),
    (
        "no longer sticky",
        [{**DRAGON, "sticky": 1}],
        ["dragon", "b", "c"],
        {"scan_depth": 1, **FIRED_IN_TURN_1},
        "",
    ),
    ("in cooldown", [{**DRAGON, "cooldown": 2}], ["dragon", "dragon"], FIRED_IN_TURN_1, ""),
    (
        "after the cooldown",
        [{**DRAGON, "cooldown": 1}],
        ["dragon", "b", "dragon"],
        FIRED_IN_TURN_1,
        "a",
    ),
    (
        "sticky, then in cooldown",
        [{**DRAGON, "sticky": 1, "cooldown": 1}],
        ["d", "b", "dragon"],
        FIRED_IN_TURN_1,
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
    ("name", "entries", "messages", "rules", "expected"),
    CASES,
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_included_entries(
    name: str,
    entries: list[dict[str, Any]],
    messages: list[str],
    rules: dict[str, Any],
    expected: str,
) -> None:
    started = time.monotonic()
    assert ids(run(book(*entries), messages, **dict(rules))) == expected, name
    assert time.monotonic() - started < 5, "no pattern takes more than linear time"


def test_report_states_the_reasons() -> None:
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
