"""Strict tool schemas."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from context.assembly.strict_tool_schemas import normalise_schema

TEXT = {"type": "string"}
CLOSED = {"type": "object", "additionalProperties": False}


def an_object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def strict(**properties: Any) -> dict[str, Any]:
    return {**CLOSED, "properties": properties, "required": list(properties)}


CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "nothing": ({"type": "object"}, strict()),
    "required stays as it is": ({**an_object(a=TEXT), "required": ["a"]}, strict(a=TEXT)),
    "what may be left out may be null": (an_object(a=TEXT), strict(a={"type": ["string", "null"]})),
    "an optional choice": (
        an_object(a={"type": "string", "enum": ["x"], "description": "d"}),
        strict(
            a={"description": "d", "anyOf": [{"type": "string", "enum": ["x"]}, {"type": "null"}]}
        ),
    ),
    "oneOf": (
        {**an_object(a={"oneOf": [TEXT, {"type": "integer"}]}), "required": ["a"]},
        strict(a={"anyOf": [TEXT, {"type": "integer"}]}),
    ),
    "$ref, with words beside it": (
        {
            **an_object(a={"$ref": "#/$defs/A", "description": "mine"}),
            "required": ["a"],
            "$defs": {"A": {"type": "string", "description": "theirs"}},
        },
        strict(a={"type": "string", "description": "mine"}),
    ),
    "definitions that refer to definitions": (
        {
            **an_object(a={"$ref": "#/$defs/A"}),
            "required": ["a"],
            "$defs": {
                "A": {**an_object(b={"$ref": "#/$defs/B"}), "required": ["b"]},
                "B": {"type": "string", "description": "not a $ref"},
            },
        },
        strict(a=strict(b={"type": "string", "description": "not a $ref"})),
    ),
    "objects inside": (
        {**an_object(a=an_object(b=TEXT), c={"type": "array", "items": an_object()})},
        strict(
            a={**strict(b={"type": ["string", "null"]}), "type": ["object", "null"]},
            c={"type": ["array", "null"], "items": strict()},
        ),
    ),
    "allOf of objects": (
        {"allOf": [{**an_object(a=TEXT), "required": ["a"]}, an_object(b=TEXT)], "type": "object"},
        strict(a=TEXT, b={"type": ["string", "null"]}),
    ),
    "allOf in an allOf, with references": (
        {
            "allOf": [{"$ref": "#/$defs/A"}],
            "$defs": {
                "A": {"allOf": [{"$ref": "#/$defs/B"}, an_object(b=TEXT)], "required": ["a"]},
                "B": an_object(a=TEXT),
            },
        },
        strict(a=TEXT, b={"type": ["string", "null"]}),
    ),
    "oneOf in an allOf": (
        {**an_object(a={"allOf": [{"oneOf": [TEXT, {"type": "null"}]}]}), "required": ["a"]},
        strict(a={"anyOf": [TEXT, {"type": "null"}]}),
    ),
    "an object that may be null": (
        {**an_object(a={"type": ["object", "null"]}), "required": ["a"]},
        strict(a={**strict(), "type": ["object", "null"]}),
    ),
    "allOf of one": ({**an_object(a={"allOf": [TEXT]}), "required": ["a"]}, strict(a=TEXT)),
}


@pytest.mark.parametrize("name", CASES)
def test_schema_becomes_strict(name: str) -> None:
    given_schema, expected = CASES[name]
    result = normalise_schema(given_schema)
    assert result.schema == expected
    assert result.strict


@pytest.mark.parametrize(
    ("schema", "obstacle"),
    [
        ({"type": "object", "additionalProperties": TEXT}, "a map with free keys"),
        ({"type": "object", "additionalProperties": True}, "a map with free keys"),
        (an_object(a={"$ref": "#/$defs/none"}), "$ref that leads nowhere"),
        (an_object(a={"$ref": "https://example.test/a"}), "$ref that leads nowhere"),
        (
            {
                **an_object(a={"$ref": "#/$defs/A"}),
                "$defs": {"A": an_object(b={"$ref": "#/$defs/A"})},
            },
            "$ref to itself",
        ),
        (an_object(a={"allOf": [TEXT, {"minLength": 3}]}), "allOf"),
        (an_object(a={"not": TEXT}), "not"),
        (an_object(a={"type": "array", "prefixItems": [an_object()]}), "prefixItems"),
        (an_object(a={"allOf": [{"$ref": "https://example.test/a"}]}), "$ref that leads nowhere"),
        (
            {
                **an_object(a={"$ref": "#/$defs/A"}),
                "$defs": {"A": {"allOf": [{"$ref": "#/$defs/A"}]}},
            },
            "$ref to itself",
        ),
        (TEXT, "the input is not an object"),
        (an_object(a=3), "a schema that is not an object"),
    ],
)
def test_obstacle_to_strictness_is_named(schema: dict[str, Any], obstacle: str) -> None:
    result = normalise_schema(schema)
    assert not result.strict
    assert obstacle in result.obstacles


def test_exponential_references_end() -> None:
    definitions = {
        f"d{level}": an_object(
            a={"$ref": f"#/$defs/d{level + 1}"}, b={"$ref": f"#/$defs/d{level + 1}"}
        )
        for level in range(22)
    }
    result = normalise_schema(
        {**an_object(a={"$ref": "#/$defs/d0"}), "$defs": {**definitions, "d22": TEXT}}
    )
    assert "references that do not end" in result.obstacles


def test_deep_references_end() -> None:
    definitions: dict[str, Any] = {}
    for level in range(22):
        inner: dict[str, Any] = {"$ref": f"#/$defs/d{level + 1}"}
        for _ in range(25):
            inner = an_object(a=inner)
        definitions[f"d{level}"] = inner
    result = normalise_schema({"$ref": "#/$defs/d0", "$defs": {**definitions, "d22": TEXT}})
    assert "references that do not end" in result.obstacles


@pytest.mark.parametrize("required", [[{}], [["a"]], 3, "a", None])
@pytest.mark.parametrize("properties", [3, [], None])
def test_malformed_schemas_are_read(required: Any, properties: Any) -> None:
    whole = {**an_object(a=TEXT), "required": required}
    part = {**an_object(), "properties": properties, "required": required}
    parts = {"allOf": [part, {**an_object(b=TEXT), "required": ["b"]}]}
    assert normalise_schema(whole).schema["required"] == ["a"]
    assert normalise_schema(parts).schema == strict(b=TEXT)


leaves = st.sampled_from(
    [TEXT, {"type": "integer"}, {"type": "string", "enum": ["x", "y"]}, {"$ref": "#/$defs/A"}]
)


def _deeper(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    properties = st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    return st.one_of(
        st.builds(lambda p: {"type": "object", "properties": p}, properties),
        st.builds(
            lambda p: {"type": "object", "properties": p, "required": sorted(p)[:1]}, properties
        ),
        st.builds(lambda i: {"type": "array", "items": i}, inner),
        st.builds(lambda a: {"oneOf": a}, st.lists(inner, min_size=1, max_size=3)),
        st.builds(lambda a: {"anyOf": a}, st.lists(inner, min_size=1, max_size=3)),
    )


schemas = st.builds(
    lambda p: {"type": "object", "properties": p, "$defs": {"A": an_object(z=TEXT)}},
    st.dictionaries(
        st.sampled_from("abcd"), st.recursive(leaves, _deeper, max_leaves=8), max_size=4
    ),
)


def every_object(schema: Any) -> list[dict[str, Any]]:
    if isinstance(schema, list):
        return [objects for each in schema for objects in every_object(each)]
    if not isinstance(schema, dict):
        return []
    objects = [each for value in schema.values() for each in every_object(value)]
    return (
        [schema, *objects]
        if "properties" in schema and isinstance(schema["properties"], dict)
        else objects
    )


@given(schemas)
@settings(max_examples=100)
def test_every_object_is_closed_and_complete(schema: dict[str, Any]) -> None:
    result = normalise_schema(schema)
    assert result.strict, result.obstacles
    Draft202012Validator.check_schema(result.schema)
    for each in every_object(result.schema):
        assert each["additionalProperties"] is False
        assert each["required"] == list(each["properties"])
    assert "oneOf" not in str(result.schema)
    assert "$ref" not in str(result.schema)
    assert normalise_schema(result.schema).schema == result.schema


def test_copies_of_a_long_target_end() -> None:
    properties = {f"p{number}": {"$ref": "#/$defs/d"} for number in range(100)}
    definitions = {"d": {**TEXT, "description": "x" * 10_000}}
    for schema in (
        {**an_object(**properties), "$defs": definitions},
        {**an_object(a={"allOf": list(properties.values())}), "$defs": definitions},
    ):
        result = normalise_schema(schema)
        assert "references that do not end" in result.obstacles
        assert len(json.dumps(result.schema)) < 300_000
