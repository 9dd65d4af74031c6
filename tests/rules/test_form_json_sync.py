"""Agreement between the form and the JSON of a rule."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rules.editing.form_json_sync import (
    EMPTY,
    Form,
    InvalidRow,
    Row,
    condition_of,
    form_of,
    rule_of,
    same,
    text_of,
    value_of,
)
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
def test_what_the_form_shows_says_the_same(rule: dict[str, Any]) -> None:
    assert same(rule_of(rule, form_of(rule)), rule)


@given(json_values())
def test_a_value_is_read_as_it_was_shown(value: Any) -> None:
    assert same(value_of(text_of(value)), value)


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
        ("words", None),
    ],
)
def test_lines_say_the_usual_and_leave_the_rest_to_the_json(condition: Any, rows: Any) -> None:
    assert form_of({**EMPTY, "if": condition}).when == rows


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
def test_lines_are_read_as_they_are_meant(row: Row, condition: Any) -> None:
    assert same(condition_of([row]), condition)


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([Row("", "is", "x")], "no_path"),
        ([Row("a", "is", "1"), Row("a", "is", "2")], "repeat"),
        ([Row("a", "is", "1"), Row("a", "$gt", "2")], "repeat"),
        ([Row("a", "$gt", "1"), Row("a", "$gt", "2")], "repeat"),
    ],
)
def test_lines_that_say_nothing_or_too_much_are_refused(rows: list[Row], reason: str) -> None:
    with pytest.raises(InvalidRow, match=reason):
        condition_of(rows)


def test_what_the_form_does_not_show_stays() -> None:
    agreed = {
        "if": {"$or": [{"a": 1}, {"b": 2}]},
        "then": {"tool": {"deny": ["x"]}, "extensions": {"tone": "warm"}},
        "exceptions": [{"a": 1}, {"b": 2}],
    }
    form = form_of(agreed)
    assert (form.when, form.unless) == (None, None)
    said = rule_of(agreed, Form(when=None, unless=None, tools={"deny": "y, z"}, format="json"))
    assert said["then"]["tool"] == {"deny": ["y", "z"]}
    assert said["then"]["extensions"] == {"tone": "warm"}
    assert (said["if"], said["exceptions"]) == (agreed["if"], agreed["exceptions"])
