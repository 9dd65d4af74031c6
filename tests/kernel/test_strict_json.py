"""The JSON parser of the API: what it accepts and refuses, in linear time."""

import io
import json
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kmapp.api.parsers import StrictJSONParser
from kmapp.api.strict_json import LIMITS, Limits, RefusedJSON, parse
from kmapp.errors import Invalid
from kmapp.ledger.canonical import check_storable
from tests.hostile import HOSTILE, MARK, REFUSED, STORED, build_body
from tests.strategies import json_values, texts
from tests.timing import assert_linear


def refusal(body: bytes, limits: Limits = LIMITS) -> RefusedJSON:
    with pytest.raises(RefusedJSON) as refused:
        parse(body, limits)
    return refused.value


def test_there_are_forty_payloads_and_no_two_alike() -> None:
    assert len(HOSTILE) >= 40
    assert len({hostile.name for hostile in HOSTILE}) == len(HOSTILE)
    assert len({hostile.raw for hostile in HOSTILE}) == len(HOSTILE)


def test_hostile_values_are_refused(subtests: pytest.Subtests) -> None:
    bodies: tuple[dict[str, Any], ...] = ({"text": MARK}, {"nodes": [{"slots": {"deep": MARK}}]})
    for hostile, body in product(REFUSED, bodies):
        with subtests.test(hostile.name):
            refusal(build_body(hostile, body))


def test_storable_text_is_accepted_unchanged() -> None:
    for hostile in STORED:
        value = parse(build_body(hostile, {"text": MARK}))
        assert value == {"text": hostile.text}, hostile.name
        check_storable(value)


@pytest.mark.parametrize(
    ("body", "path", "reason"),
    [
        (rb'{"nodes": [{}, {"slots": {"k": "\u0000"}}]}', "nodes.1.slots.k", "NUL"),
        (rb'{"a": {"\ud800": 1}}', "a", "surrogate"),
        (b'{"a": [{"b": 1, "c": 2, "b": 3}]}', "a.0", "has the key 'b' twice"),
        (b'{"a": 1, "a": 1}', "", "has the key 'a' twice"),
        (b'{"a": [0, NaN]}', "a.1", "is NaN"),
        (b'{"a": {"b": 1e999}}', "a.b", "beyond"),
        (b'{"a": -9007199254740992}', "a", "beyond"),
        (b'{"a": 1', "", "line 1, column 8"),
        (b'\xef\xbb\xbf{"a": 1}', "", "not JSON"),
        ('{"a": 1}'.encode("utf-16"), "", "not UTF-8"),
        (b'{"a": "\xff"}', "", r"byte 7"),
        (b"[]", "", "must be a JSON object"),
        (b"null", "", "must be a JSON object"),
        (b'"text"', "", "must be a JSON object"),
        (b"", "", "not JSON"),
        (b"{} {}", "", "not JSON"),
        (b"[" * 65, "", "deeper than 64"),
    ],
)
def test_error_names_the_path(body: bytes, path: str, reason: str) -> None:
    refused = refusal(body)
    assert refused.path == path
    assert reason in refused.reason


def test_million_brackets_are_rejected_cheaply() -> None:
    for body in (b"[" * 10**6, b'{"a":' * 10**5, b"]" * 10**6, b'{"a":[' * 5_000 + b"]}" * 5_000):
        refusal(body)


def test_brackets_in_strings_are_ignored() -> None:
    text = "[" * 1_000 + r"\"" + "{" * 1_000 + "," * 200_000
    assert parse(json.dumps({"a": text}).encode()) == {"a": text}


def test_limits_are_exact() -> None:
    limits = Limits(depth=2, items=4)
    assert parse(b'{"a": [1, 2, 3]}', limits) == {"a": [1, 2, 3]}
    assert "more than 4 items" in refusal(b'{"a": [1, 2, 3, 4]}', limits).reason
    assert "deeper than 2" in refusal(b'{"a": [[]]}', limits).reason
    parse(b'{"a":' * 64 + b"1" + b"}" * 64)


@given(st.dictionaries(texts(), json_values()))
def test_every_storable_object_is_accepted(value: dict[str, Any]) -> None:
    for ascii_only in (True, False):
        assert parse(json.dumps(value, ensure_ascii=ascii_only).encode()) == value


@given(st.binary() | st.text(alphabet='{}[]",:\\u0d81e9.-ntf ').map(str.encode))
def test_accepted_values_can_be_stored(body: bytes) -> None:
    try:
        value = parse(body)
    except RefusedJSON:
        return
    check_storable(value)


@pytest.mark.parametrize(
    "piece",
    [b"[", b"[]", b'"', b'\\"', b'"\\', b"{}", b'{"a":', b'"a":', b",", b"\\", b"1", b"e", b" "],
)
def test_rejection_takes_linear_time(piece: bytes) -> None:
    assert_linear(lambda n: refusal(b'{"a":"' + piece * (n // len(piece))), 100_000)


def test_many_items_below_a_long_key_take_linear_time() -> None:
    def build(n: int) -> None:
        key = b"k" * n
        parse(b'{"' + key + b'": [' + b"1," * (n // 10) + b"1]}")

    assert_linear(build, 100_000)


def test_parser_of_requests_raises_an_api_error() -> None:
    parser = StrictJSONParser()
    assert parser.parse(io.BytesIO(b'{"a": 1}')) == {"a": 1}
    with pytest.raises(Invalid) as refused:
        parser.parse(io.BytesIO(rb'{"nodes": [{"text": "\u0000"}]}'))
    body = refused.value.body()
    assert body["status"] == 400
    assert body["issues"] == [{"path": "nodes.0.text", "message": "contains a NUL character"}]
    assert body["message"] == "nodes.0.text: contains a NUL character."
    with pytest.raises(Invalid, match=r"^The body is not JSON: "):
        parser.parse(io.BytesIO(b"{"))
