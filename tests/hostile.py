"""Hostile JSON values, for every writer and every field.

`raw` is the bytes of one JSON value, which replaces a text or a JSON field of a request. The API
must answer refused values with 400 in every field. It may store the others, and then returns them
unchanged, byte for byte.
"""

import json
from dataclasses import dataclass
from typing import Any

MARK = "00-the-hostile-value-goes-here-00"


@dataclass(frozen=True, slots=True)
class Hostile:
    """One payload; `text` is its decoded value, if it is a text that may be stored."""

    name: str
    raw: bytes
    refused: bool = True
    text: str | None = None


def build_body(hostile: Hostile, body: dict[str, Any]) -> bytes:
    """Return the request body with the payload in place of MARK."""
    whole = json.dumps(body).encode()
    hole = json.dumps(MARK).encode()
    assert whole.count(hole) == 1, "the body has exactly one MARK"
    return whole.replace(hole, hostile.raw)


def _stored(name: str, text: str) -> Hostile:
    return Hostile(name, json.dumps(text).encode(), refused=False, text=text)


REFUSED = [
    Hostile("NUL as an escape", rb'"a\u0000b"'),
    Hostile("NUL as a byte", b'"a\x00b"'),
    Hostile("NUL in a key", rb'{"a\u0000b": 1}'),
    Hostile("lone high surrogate", rb'"\ud800"'),
    Hostile("lone low surrogate", rb'"x\udfff"'),
    Hostile("surrogates the wrong way round", rb'"\ude00\ud83d"'),
    Hostile("lone surrogate in a key", rb'{"\ud800": 1}'),
    Hostile("surrogate as UTF-8 bytes", b'"\xed\xa0\x80"'),
    Hostile("overlong UTF-8", b'"\xc0\xaf"'),
    Hostile("Latin-1", b'"caf\xe9"'),
    Hostile("beyond Unicode", b'"\xf4\x90\x80\x80"'),
    Hostile("cut UTF-8", b'"\xe4\xb8"'),
    Hostile("line break in a string", b'"a\nb"'),
    Hostile("bad escape", rb'"\x41"'),
    Hostile("doubled key", b'{"a": 1, "a": 2}'),
    Hostile("doubled key, one escaped", rb'{"a": 1, "\u0061": 2}'),
    Hostile("doubled key, deep", b'[[{"x": {"a": 1, "b": 2, "a": 3}}]]'),
    Hostile("NaN", b"NaN"),
    Hostile("Infinity", b"[Infinity]"),
    Hostile("minus Infinity", b'{"a": -Infinity}'),
    Hostile("1e999", b"1e999"),
    Hostile("-1e999", b"[-1e999]"),
    Hostile("1e16, which jsonb returns as an integer", b"1e16"),
    Hostile("2**53", b"9007199254740992"),
    Hostile("-2**53", b"[-9007199254740992]"),
    Hostile("five thousand digits", b"9" * 5_000),
    Hostile("hexadecimal", b"0x1F"),
    Hostile("leading zero", b"[01]"),
    Hostile("depth 65", b"[" * 65 + b"]" * 65),
    Hostile("depth 5,000", b"[" * 5_000 + b"]" * 5_000),
    Hostile("depth 5,000 of objects", b'{"a":' * 5_000 + b"1" + b"}" * 5_000),
    Hostile("depth 100,000, never closed", b"[" * 100_000),
    Hostile("200,000 items", b"[" + b"0," * 200_000 + b"0]"),
    Hostile("single quotes", b"'a'"),
    Hostile("comment", b"1 /* one */"),
    Hostile("trailing comma", b"[1,]"),
    Hostile("never ends", b'"abc'),
    Hostile("nothing", b""),
]

STORED = [
    _stored("right-to-left override", "invoice\u202egpj.exe"),
    _stored("isolates left open", "a\u2066b\u2067c"),
    _stored("joined emoji", "family 👨‍👩‍👧‍👦 and flag 🏴\U000e0067\U000e0062\U000e007f"),
    _stored("tag characters", "hello" + "".join(chr(0xE0000 + ord(c)) for c in "ignore me")),
    _stored("zero width", "pass\u200bword\ufeff\u2060"),
    _stored("controls", "\x01\x07\x08\x1b[31m\x7f\x85"),
    _stored("line separators", "a\u2028b\u2029c\r\n\td"),
    _stored("noncharacters", "\ufffe\uffff\U0010ffff"),
    _stored("combining marks", "Z" + "\u0335\u0489" * 200),
    _stored("not normalised", "e\u0301 \u212b ﬁ ㎏ ①"),
    _stored("markup", "</script><img src=x onerror=alert(1)>{{ 7*7 }}{% debug %}"),
    _stored("SQL", "'; DROP TABLE memory_memoryentry; -- %s %(a)s"),
    _stored("prototype", '{"__proto__": {"admin": true}}'),
    _stored("looks like a number", "-0.0"),
    _stored("format string", "%n%n%s {0.__class__} ${jndi:ldap://x}"),
]

HOSTILE = REFUSED + STORED
