"""Aliases of fields, and validation of text lengths and integers, in request serializers."""

from typing import Any

import pytest
from django.http import QueryDict
from rest_framework import serializers

from kmapp.api.serializers import IdField, OneOrMore, Typed
from tests.kernel.api_views import NoteInput


def _read(data: Any) -> dict[str, Any]:
    serializer = NoteInput(data=data)
    serializer.is_valid(raise_exception=True)
    return dict(serializer.validated_data)


@pytest.mark.parametrize("word", ["text", "content", "text_summary"])
@pytest.mark.parametrize("run", ["run_id", "session_id", "conversation_id"])
@pytest.mark.parametrize("facts", ["metadata", "slots"])
def test_aliases_are_equivalent(word: str, run: str, facts: str) -> None:
    read = _read({word: "a", run: "r", facts: {"b": 1}})
    assert read == {"text": "a", "run_id": "r", "metadata": {"b": 1}}


def test_canonical_field_overrides_its_alias() -> None:
    assert _read({"content": "theirs", "text": "ours"})["text"] == "ours"
    assert _read({"content": "theirs", "text": None})["text"] == "theirs"


def test_aliases_work_in_nested_lists() -> None:
    read = _read({"text": "a", "parts": [{"content": "b", "type": "event"}]})
    assert read["parts"] == [{"text": "b", "kind": "event"}]


def test_aliases_work_in_query_strings() -> None:
    assert _read(QueryDict("content=a&session_id=r")) == {"text": "a", "run_id": "r"}


def test_unknown_fields_are_dropped() -> None:
    assert _read({"text": "a", "embedding": [1], "type": "fact"}) == {"text": "a"}


class Sizes(Typed):
    """One field of each sort that DRF reads more generously than our schema."""

    name = IdField(max_length=5)
    names = OneOrMore(child=serializers.CharField(max_length=5), required=False)
    notes = serializers.DictField(child=serializers.CharField(max_length=5), required=False)
    limit = serializers.IntegerField(required=False)


@pytest.mark.parametrize(
    "data",
    [
        {"name": " " * 6},
        {"name": "a    \n"},
        {"names": "a     "},
        {"names": ["a", "     a"]},
        {"notes": {"a": "a" + "\u3000" * 5}},
        QueryDict("name=a+++++"),
    ],
)
def test_length_counts_spaces(data: Any) -> None:
    serializer = Sizes(data=data)
    assert not serializer.is_valid()
    assert "no more than 5 characters" in str(serializer.errors)


def test_long_texts_are_reported_with_other_errors() -> None:
    serializer = Sizes(data={"name": "a     ", "names": 5, "notes": 5, "limit": None})
    assert not serializer.is_valid()
    assert serializer.errors.keys() == {"name", "names", "notes", "limit"}


def test_spaces_within_the_length_are_removed() -> None:
    serializer = Sizes(data={"name": " a  ", "names": " b  ", "notes": {"a": "c "}})
    serializer.is_valid(raise_exception=True)
    assert serializer.validated_data == {"name": "a", "names": ["b"], "notes": {"a": "c"}}


@pytest.mark.parametrize("text", ["1.0", "%2B5", "+5", "05", "1_0", "%D9%A3", "1e1", "5%E2%80%A8"])
def test_integers_of_queries_have_one_spelling(text: str) -> None:
    serializer = Sizes(data=QueryDict(f"limit={text}"))
    assert not serializer.is_valid()
    assert "valid integer" in str(serializer.errors)


@pytest.mark.parametrize("number", [0, 5, -17])
def test_integers_of_queries_are_read(number: int) -> None:
    serializer = Sizes(data=QueryDict(f"limit={number}"))
    serializer.is_valid(raise_exception=True)
    assert serializer.validated_data == {"limit": number}


class Colours(Typed):
    """Choices as a value, in a list and in a mapping."""

    colour = serializers.ChoiceField(["red", "green"], required=False)
    colours = OneOrMore(child=serializers.ChoiceField(["red", "green"]), required=False)
    groups = serializers.DictField(child=serializers.ChoiceField(["red"]), required=False)


@pytest.mark.parametrize(
    ("data", "path", "choices"),
    [
        ({"colour": "blue"}, ["colour"], "red, green"),
        ({"colours": ["red", "blue"]}, ["colours", 1], "red, green"),
        ({"groups": {"a": "blue"}}, ["groups", "a"], "red"),
    ],
)
def test_invalid_choice_lists_the_valid_ones(
    data: Any, path: list[str | int], choices: str
) -> None:
    serializer = Colours(data=data)
    assert not serializer.is_valid()
    issues: Any = serializer.errors
    for name in path:
        issues = issues[name]
    assert issues == [f'"blue" is not a valid choice. Use one of {choices}.']
    assert issues[0].code == "invalid_choice"
