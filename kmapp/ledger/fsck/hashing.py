"""Digests of the ledger, implemented independently of the writer.

Canonical JSON: sorted keys, no spaces, UTF-8; integral numbers as integers; times are UTC text with
microseconds, which the database formats (`FORMAT_TIME_SQL`).
"""

import json
from hashlib import sha256
from typing import Any, NamedTuple

# `to_char` writes no sign before the year, so a date B.C. must not look like a valid one.
FORMAT_TIME_SQL = """CASE WHEN {0} < timestamptz '0001-01-01Z' THEN {0}::text
  ELSE to_char({0} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') END"""
_MAX_DIGITS = 20  # digits; Python refuses to read very long ones

_TOO_DEEP = "nested deeper than any writer nests values"

_encoder = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"))


class CommitRow(NamedTuple):
    """One row of ledger_commit with its note; hashed columns as text."""

    id: str
    format: int
    seq: int
    parent_hash: str
    commit_hash: str
    actor: str
    created_at: str
    input_digest: str
    diff: str
    salt: bytes | None
    input: str | None
    reason: str


def _encode(value: Any) -> str:
    try:
        return _encoder.encode(value)
    except RecursionError:
        return _TOO_DEEP


def compute_commit_hash(account: str, commit: CommitRow, diff: Any) -> str:
    """Return the hash that a commit must have (format 1): of all columns except the hash."""
    text = (
        f'{{"account":"{account}","actor":{_encode(commit.actor)}'
        f',"created_at":"{commit.created_at}","diff":{_encode(diff)},"format":{commit.format}'
        f',"id":"{commit.id}","input_digest":{_encode(commit.input_digest)}'
        f',"parent_hash":{_encode(commit.parent_hash)},"seq":{commit.seq}}}'
    )
    return sha256(text.encode()).hexdigest()


def compute_digest(salt: bytes, value: Any) -> str:
    return sha256(salt + _encode(value).encode()).hexdigest()


def encode_canonical(value: Any) -> bytes:
    return _encode(value).encode()


def normalize_number(value: float) -> float:
    return int(value) if value.is_integer() else value


_decode = json.JSONDecoder(
    parse_float=lambda digits: normalize_number(float(digits)),
    parse_int=lambda digits: int(digits) if len(digits) <= _MAX_DIGITS else digits,
).decode


def parse_jsonb(text: str | None) -> Any:
    """Return a jsonb value with its numbers as in canonical JSON.

    A value that is nested too deeply is returned as text, which differs from every sealed value.
    """
    try:
        return None if text is None else _decode(text)
    except RecursionError:
        return text
