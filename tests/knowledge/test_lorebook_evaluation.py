"""Rules for firing lore entries: keys, budgets, recursion, sticky entries and cooldowns."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from knowledge.lore.lorebook_evaluation import (
    Entry,
    TriggerResult,
    TriggerSettings,
    evaluate_lorebook,
)
from tests.timing import assert_linear, assert_ratio


def book(*entries: Mapping[str, Any]) -> list[Entry]:
    return [
        Entry(**{"id": "abcdefgh"[i], "content": "x", **each}) for i, each in enumerate(entries)
    ]


def words(text: str) -> int:
    return len(text.split())


def run(entries: list[Entry], messages: Sequence[str], **more: Any) -> TriggerResult:
    state = more.pop("state", None)
    return evaluate_lorebook(
        entries, messages, settings=TriggerSettings(**more), count_tokens=words, state=state
    )


def ids(outcome: TriggerResult) -> str:
    return "".join(each.entry.id for each in outcome.included)


DRAGON: dict[str, Any] = {"keys": ["dragon"]}

FIRED = {"a": 1}  # in turn 1


def dragon(content: str = "x", **fields: Any) -> dict[str, Any]:
    return {**DRAGON, "content": content, **fields}


HOARD = dragon("gold")
CHAIN = [HOARD, {"keys": ["gold"], "content": "ring"}, {"keys": ["ring"], "content": "y"}]


def case(name: str, entries: list[dict[str, Any]], ids: str, talk: str, **rules: Any) -> Any:
    """Return a case: `ids` of the entries included for `talk`, whose messages slashes separate."""
    return pytest.param(entries, ids, talk.split(" / ") if talk else [], rules, id=name)


CASES = [
    case("a key fires", [DRAGON], "a", "A dragon came."),
    case("no key matches", [DRAGON], "", "A cat came."),
    case("no messages", [DRAGON], "", ""),
    case("case is ignored", [DRAGON], "a", "DRAGON!"),
    case("case-sensitive", [dragon(case_sensitive=True)], "", "Dragon"),
    case("case-sensitive match", [dragon(case_sensitive=True)], "a", "dragon"),
    case("folded case", [{"keys": ["STRASSE"]}], "a", "die Straße"),
    case("parts of words fire", [DRAGON], "a", "dragonfly"),
    case("whole words only", [dragon(whole_words=True)], "", "dragonfly"),
    case("whole words at the end", [dragon(whole_words=True)], "a", "a dragon."),
    case("a later whole word", [dragon(whole_words=True)], "a", "dragonfly, dragon"),
    case("a Chinese key", [{"keys": ["龙"]}], "a", "小龙女来了"),
    case("Chinese has no word ends", [{"keys": ["龙"], "whole_words": True}], "a", "小龙女"),
    case("Latin next to Chinese", [{"keys": ["AI"], "whole_words": True}], "a", "用AI写作"),
    case("an empty key never fires", [{"keys": [" ", ""]}], "", "anything"),
    case("one of several keys", [{"keys": ["wyrm", "dragon"]}], "a", "dragon"),
    case("always included", [{"constant": True}], "a", "anything"),
    case("constant, without messages", [{"constant": True}], "a", ""),
    case("disabled", [dragon(enabled=False)], "", "dragon"),
    case("below the scan depth", [DRAGON], "", "dragon / b / c", scan_depth=2),
    case("its own depth", [dragon(scan_depth=3)], "a", "dragon / b / c", scan_depth=2),
    case("scan depth of zero", [DRAGON], "", "dragon", scan_depth=0),
    case("a pattern", [{"keys": [r"drag(on|oon)s?\b"], "regex": True}], "a", "two dragoons"),
    case("a pattern with slashes", [{"keys": ["/DRAGON/i"], "regex": True}], "a", "dragon"),
    case("slashes are case-sensitive", [{"keys": ["/DRAGON/"], "regex": True}], "", "dragon"),
    case("a Chinese pattern", [{"keys": ["[龙凤]{2}"], "regex": True}], "a", "龙凤呈祥"),
    case("no look-ahead", [{"keys": ["(?=dragon)"], "regex": True}], "", "dragon"),
    case("no back reference", [{"keys": [r"(a)\1"], "regex": True}], "", "aa"),
    case("secondary: any", [dragon(secondary_keys=["fire", "ice"])], "a", "dragon, ice"),
    case("secondary: none matches", [dragon(secondary_keys=["fire"])], "", "dragon"),
    case(
        "secondary: all",
        [dragon(secondary_keys=["fire", "ice"], secondary_logic="and_all")],
        "",
        "dragon fire",
    ),
    case(
        "secondary: not any",
        [dragon(secondary_keys=["toy"], secondary_logic="not_any")],
        "",
        "toy dragon",
    ),
    case(
        "secondary: not all",
        [dragon(secondary_keys=["toy", "red"], secondary_logic="not_all")],
        "a",
        "toy dragon",
    ),
    case("recursion", [dragon("hoards gold"), {"keys": ["gold"]}], "ab", "dragon"),
    case("two rounds", CHAIN, "abc", "dragon"),
    case("recursion ends", CHAIN, "ab", "dragon", max_recursion=1),
    case("no recursion", [HOARD, {"keys": ["gold"]}], "a", "dragon", max_recursion=0),
    case("a cycle", [HOARD, {"keys": ["gold"], "content": "dragon"}], "ab", "dragon"),
    case("not recursive", [dragon("gold", recursive=False), {"keys": ["gold"]}], "a", "dragon"),
    case("not recursable", [HOARD, {"keys": ["gold"], "recursable": False}], "a", "dragon"),
    case("another scope", [dragon(scope="shop")], "", "dragon"),
    case("its scope", [dragon(scope="shop")], "a", "dragon", scope="shop"),
    case("every scope", [DRAGON], "a", "dragon", scope="shop"),
    case("equal texts once", [dragon("same text"), dragon("same text")], "a", "dragon"),
    case("the higher one of equals", [DRAGON, dragon(priority=1)], "b", "dragon"),
    case("no room", [dragon("one two three")], "", "dragon", budget=2),
    case("just enough room", [dragon("one two")], "a", "dragon", budget=2),
    case(
        "priority is included first",
        [dragon("a a"), dragon("b b", priority=5)],
        "b",
        "dragon",
        budget=3,
    ),
    case(
        "a tie goes by order",
        [dragon("a a", order=9), dragon("b b", order=1)],
        "b",
        "dragon",
        budget=2,
    ),
    case("a full tie goes by id", [dragon("a a"), dragon("b b")], "a", "dragon", budget=2),
    case(
        "a smaller entry still fits",
        [dragon("a a a", priority=1), dragon("b")],
        "b",
        "dragon",
        budget=2,
    ),
    case("weightless", [dragon("a a a", budget_weight=0.0)], "a", "dragon", budget=0),
    case("heavy", [dragon("a a", budget_weight=2.0)], "", "dragon", budget=3),
    case("included by order", [dragon(order=2), dragon("y", order=1)], "ba", "dragon"),
    case(
        "sticky for two turns", [dragon(sticky=2)], "a", "dragon / b / c", scan_depth=1, state=FIRED
    ),
    case("no longer sticky", [dragon(sticky=1)], "", "dragon / b / c", scan_depth=1, state=FIRED),
    case("in cooldown", [dragon(cooldown=2)], "", "dragon / dragon", state=FIRED),
    case("after the cooldown", [dragon(cooldown=1)], "a", "dragon / b / dragon", state=FIRED),
    case(
        "sticky, then in cooldown",
        [dragon(sticky=1, cooldown=1)],
        "",
        "d / b / dragon",
        state=FIRED,
    ),
    case("another conversation's state", [dragon(cooldown=9)], "a", "dragon", state={"a": 7}),
]


@pytest.mark.parametrize(("entries", "expected", "messages", "rules"), CASES)
def test_included_entries(
    entries: list[dict[str, Any]], expected: str, messages: Sequence[str], rules: dict[str, Any]
) -> None:
    assert ids(run(book(*entries), messages, **dict(rules))) == expected


@pytest.mark.parametrize("pattern", ["(a+)+$", "(.*a){20}$"])
def test_patterns_take_linear_time(pattern: str) -> None:
    entries = book({"keys": [pattern], "regex": True})

    def fire(size: int) -> None:
        assert ids(run(entries, ["a" * size + "b"])) == ""

    assert_linear(fire, 20_000)


def test_many_suppressed_entries_take_linear_time() -> None:
    def suppress(size: int) -> None:
        entries = [
            Entry(id=str(number), content="x", constant=True, scope="other")
            for number in range(size)
        ]
        assert len(run(entries, ["A dragon!"]).suppressed) == size

    assert_linear(suppress, 1_000)


def test_a_long_text_is_folded_once() -> None:
    def scan(size: int) -> None:
        entries = [Entry(id=str(number), content="x", keys=["龙"]) for number in range(size)]
        assert ids(run(entries, ["茶" * 200_000])) == ""

    assert_ratio(lambda: scan(1), lambda: scan(500), 60)


def test_report_states_the_reasons() -> None:
    entries = book(
        {**DRAGON, "content": "hoards gold"},
        {"keys": ["gold"], "content": "a b c"},
        {**DRAGON, "secondary_keys": ["never"]},
        {"keys": ["("], "regex": True},
    )
    outcome = run(entries, ["A dragon!"], budget=3)
    assert [
        (f.entry.id, f.reason, f.match, f.by, f.round, f.trimmed) for f in outcome.triggered
    ] == [("a", "key", "dragon", "", 0, ""), ("b", "recursion", "gold", "a", 1, "budget")]
    assert {(s.entry.id, s.reason) for s in outcome.suppressed} >= {
        ("c", "secondary"),
        ("d", "pattern"),
    }
    assert (outcome.tokens, outcome.state) == (2, {"a": 1, "b": 1})
