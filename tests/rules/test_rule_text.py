"""The form, JSON and differences of a rule, and its validation messages."""

from collections.abc import Mapping
from typing import Any

import pytest
from django.utils.translation import override
from hypothesis import given
from hypothesis import strategies as st

from rules.editing import json_schemas
from rules.editing.form_json_sync import (
    EMPTY,
    Form,
    InvalidRow,
    Row,
    build_condition,
    build_form,
    build_rule,
    format_value,
    is_same_json,
    parse_value,
)
from rules.editing.rendering import compare_rules
from rules.editing.rule_input import MESSAGES, list_issues
from rules.evaluation.conditions import OPERATORS
from tests.strategies import json_values

words = st.sampled_from(["intent", "user.role", "", "a b", "3", "true", '"x"', " x", "a, b", "空"])
operands = st.one_of(words, st.integers(-5, 5), st.booleans(), st.none(), st.lists(words))
conditions = st.dictionaries(
    words,
    st.one_of(operands, st.dictionaries(st.sampled_from([*OPERATORS, "b"]), operands)),
    max_size=4,
)
thens = st.fixed_dictionaries(
    {},
    optional={
        "tool": st.dictionaries(st.sampled_from(["deny", "allow", "prefer"]), st.lists(words)),
        "output": st.fixed_dictionaries(
            {},
            optional={"format": st.sampled_from(["json", "text", "xml"]), "strict": st.booleans()},
        ),
        "extensions": st.dictionaries(words, operands),
    },
)
rules = st.fixed_dictionaries(
    {"if": conditions, "then": thens, "exceptions": st.lists(conditions, max_size=2)}
)


@given(rules)
def test_form_preserves_the_rule(rule: dict[str, Any]) -> None:
    assert is_same_json(build_rule(rule, build_form(rule)), rule)


@given(json_values())
def test_displayed_value_is_parsed_back(value: Any) -> None:
    assert is_same_json(parse_value(format_value(value)), value)


@pytest.mark.parametrize(
    ("condition", "rows"),
    [
        ({"intent": "refund"}, (Row("intent", "is", "refund"),)),
        ({"n": 3}, (Row("n", "is", "3"),)),
        ({"n": "3"}, (Row("n", "is", '"3"'),)),
        ({"n": {"$gte": 1, "$lt": 9}}, (Row("n", "$gte", "1"), Row("n", "$lt", "9"))),
        ({"tags": ["a", "b"]}, (Row("tags", "all", '["a", "b"]'),)),
        ({"role": {"$in": ["x"]}}, (Row("role", "$in", '["x"]'),)),
        ({"mail": {"$exists": False}}, (Row("mail", "$exists", "false"),)),
        ({"text": {"$regex": "^a+$"}}, (Row("text", "$regex", "^a+$"),)),
        ({"$or": [{"a": 1}]}, None),
        ({"user": {"role": "guest"}}, None),
        ({"a": {"$not": {"b": 1}}}, None),
        ({"a": {"$eq": 1}}, None),
        ({" a": 1}, None),
        ({"a": "b\rc"}, (Row("a", "is", '"b\\rc"'),)),
        ("words", None),
    ],
)
def test_form_shows_simple_conditions_only(condition: Any, rows: Any) -> None:
    assert build_form({**EMPTY, "if": condition}).when == rows


@pytest.mark.parametrize(
    ("row", "condition"),
    [
        (Row("role", "$in", "guest, staff"), {"role": {"$in": ["guest", "staff"]}}),
        (Row("n", "$in", "1，2"), {"n": {"$in": [1, 2]}}),
        (Row("tags", "all", "a"), {"tags": ["a"]}),
        (Row("mail", "$exists", ""), {"mail": {"$exists": True}}),
        (Row("code", "$regex", "12"), {"code": {"$regex": "12"}}),
        (Row("n", "is", "NaN"), {"n": "NaN"}),
        (Row("n", "is", '1, "w": 2'), {"n": '1, "w": 2'}),
        (Row("n", "is", "9" * 400), {"n": "9" * 400}),
    ],
)
def test_rows_are_parsed(row: Row, condition: Any) -> None:
    assert is_same_json(build_condition([row]), condition)


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([Row("", "is", "x")], "no_path"),
        ([Row("a", "is", "1"), Row("a", "is", "2")], "repeat"),
        ([Row("a", "is", "1"), Row("a", "$gt", "2")], "repeat"),
        ([Row("a", "$gt", "1"), Row("a", "$gt", "2")], "repeat"),
    ],
)
def test_rejects_ambiguous_rows(rows: list[Row], reason: str) -> None:
    with pytest.raises(InvalidRow, match=reason):
        build_condition(rows)


def test_parts_outside_the_form_are_preserved() -> None:
    agreed = {
        "if": {"$or": [{"a": 1}, {"b": 2}]},
        "then": {"tool": {"deny": ["x"]}, "extensions": {"tone": "warm"}},
        "exceptions": [{"a": 1}, {"b": 2}],
    }
    form = build_form(agreed)
    assert (form.when, form.unless) == (None, None)
    changed = build_rule(
        agreed, Form(when=None, unless=None, tools={"deny": "y, z"}, format="json")
    )
    assert changed["then"]["tool"] == {"deny": ["y", "z"]}
    assert changed["then"]["extensions"] == {"tone": "warm"}
    assert (changed["if"], changed["exceptions"]) == (agreed["if"], agreed["exceptions"])


ACTIVE: dict[str, Any] = {
    "if": {"intent": "refund"},
    "then": {"tool": {"deny": ["refund"]}},
    "exceptions": [],
    "priority": 0,
    "weight": 1.0,
    "audience": "account",
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
        ({"exceptions": [{"user.role": "staff"}]}, [("ins", "Unless", 0, 'user.role is "staff"')]),
        (
            {"then": {"tool": {"prefer": ["a", "b"]}}},
            [("del", "Then", 0, "denies refund"), ("ins", "Then", 0, "prefers a, b")],
        ),
        (
            {"audience": "agent", "audience_id": "bot"},
            [("del", "For", 0, "everyone"), ("ins", "For", 0, "specific agent: bot")],
        ),
        ({"priority": 7}, [("del", "Priority", 0, "0"), ("ins", "Priority", 0, "7")]),
        ({"weight": 2.0}, [("del", "Weight", 0, "1.0"), ("ins", "Weight", 0, "2.0")]),
    ],
)
def test_differences_are_listed_by_line(
    change: dict[str, Any], lines: list[tuple[Any, ...]]
) -> None:
    differences = [pair for pair in compare_rules(ACTIVE, {**ACTIVE, **change}) if pair[0]]
    assert [(mark, each.part, each.depth, each.text) for mark, each in differences] == lines


def test_differences_at_the_end_of_a_long_value_are_listed() -> None:
    before, after = ({**ACTIVE, "if": {"n": {"$in": n}}} for n in (NUMBERS, NUMBERS[:-1]))
    assert [mark for mark, _line in compare_rules(before, after) if mark] == ["del", "ins"]


NUMBERS = list(range(200))


def whole_rule(part: Mapping[str, Any]) -> dict[str, Any]:
    return {"if": {}, "then": {"tool": {"deny": ["curl"]}}, "exceptions": [], **part}


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
def test_issue_has_its_path(rule: dict[str, Any], paths: list[str]) -> None:
    assert [issue["path"] for issue in list_issues(whole_rule(rule))] == paths


EXAMPLES: list[tuple[str, dict[str, Any], str]] = [
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


@pytest.mark.parametrize(("code", "rule", "message"), EXAMPLES, ids=[one[0] for one in EXAMPLES])
def test_message_is_precise_and_translated(code: str, rule: dict[str, Any], message: str) -> None:
    whole = whole_rule(rule)
    assert [f"{issue['path']}: {issue['message']}" for issue in list_issues(whole)] == [message]
    with override("zh-hans"):
        [issue] = list_issues(whole)
    assert not message.endswith(issue["message"])


def test_every_message_is_tested() -> None:
    assert [code for code, _rule, _message in EXAMPLES] == list(MESSAGES)


@pytest.mark.parametrize("part", [[[]] * 30_000, [{"$like": 1}] * 20_000, "x" * 1_000_000])
def test_large_part_is_not_validated(part: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    validator, validated = json_schemas._get_validator, []  # noqa: SLF001 - what it must not do

    def record(name: str) -> Any:
        validated.append(name)
        return validator(name)

    monkeypatch.setattr(json_schemas, "_get_validator", record)
    assert [issue["path"] for issue in list_issues(whole_rule({"if": {"a": part}}))] == ["if"]
    assert validated == ["then", "exceptions"]
