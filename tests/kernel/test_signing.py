"""Signed checkpoints: keys, verification, and a file that survives a crash."""

import json
import multiprocessing
import os
import stat
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key

from kmapp.ledger.chain import Head
from kmapp.ledger.signing import (
    KeyExposed,
    Signed,
    Statement,
    append_statements,
    compute_key_id,
    countersign_statement,
    format_public_key,
    get_public_keys_path,
    is_countersigned_by,
    is_signed_by,
    load_public_keys,
    load_signing_key,
    parse_line,
    sign_statement,
)

STATEMENT = Statement(
    account=UUID(int=7),
    seq=12,
    commit_hash="ab" * 32,
    created_at=datetime(2026, 3, 4, 5, 6, 7, 8, UTC),
)


def read(path: Path) -> list[Signed | None]:
    lines = path.read_bytes().splitlines(keepends=True)
    return [parse_line(line) for line in lines]


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    return tmp_path / "keys" / "checkpoint.ed25519"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "checkpoints" / "checkpoints.ndjson"


def test_key_is_created_once_with_private_permissions(key_file: Path) -> None:
    key = load_signing_key(key_file)
    assert stat.S_IMODE(key_file.stat().st_mode) == 0o600
    assert stat.S_IMODE(key_file.parent.stat().st_mode) == 0o700
    assert load_signing_key(key_file).private_bytes_raw() == key.private_bytes_raw()
    assert sorted(path.name for path in key_file.parent.iterdir()) == [
        "checkpoint.ed25519",
        "checkpoint.ed25519.pub",
    ]
    assert "BEGIN PUBLIC KEY" in format_public_key(key.public_key())


@pytest.mark.parametrize("mode", [0o604, 0o620, 0o666])
def test_an_exposed_key_is_refused(key_file: Path, mode: int) -> None:
    load_signing_key(key_file)
    key_file.chmod(mode)
    with pytest.raises(KeyExposed, match="chmod 600"):
        load_signing_key(key_file)


def test_key_of_another_type_is_refused(key_file: Path) -> None:
    key_file.parent.mkdir()
    pem = generate_private_key(SECP256R1()).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    key_file.write_bytes(pem)
    key_file.chmod(0o600)
    with pytest.raises(TypeError, match="not an Ed25519 key"):
        load_signing_key(key_file)


def test_concurrent_processes_get_one_key(key_file: Path) -> None:
    with multiprocessing.get_context("fork").Pool(8) as pool:
        ids = set(pool.map(_id_of_key, [key_file] * 16))
    assert len(ids) == 1
    assert set(load_public_keys(get_public_keys_path(key_file))) == ids


def _id_of_key(path: Path) -> str:
    return compute_key_id(load_signing_key(path).public_key())


def test_altered_statement_does_not_verify(key_file: Path) -> None:
    signed = sign_statement(load_signing_key(key_file), STATEMENT)
    keys = load_public_keys(get_public_keys_path(key_file))
    assert is_signed_by(keys, signed)
    assert not is_signed_by({}, signed)
    edits = [
        {"account": UUID(int=8)},
        {"seq": 11},
        {"commit_hash": "ac" * 32},
        {"created_at": datetime(2026, 3, 4, 5, 6, 7, 9, UTC)},
    ]
    for edit in edits:
        assert not is_signed_by(keys, replace(signed, statement=replace(STATEMENT, **edit))), edit  # type: ignore[arg-type]
    for signature in ["", "!", "é", signed.signature[:-4], signed.signature.swapcase()]:
        assert not is_signed_by(keys, replace(signed, signature=signature)), signature


def test_countersignature_is_not_a_checkpoint(key_file: Path) -> None:
    key = load_signing_key(key_file)
    keys = load_public_keys(get_public_keys_path(key_file))
    own, other = sign_statement(key, STATEMENT), countersign_statement(key, STATEMENT)
    assert (is_signed_by(keys, own), is_countersigned_by(keys, own)) == (True, False)
    assert (is_signed_by(keys, other), is_countersigned_by(keys, other)) == (False, True)
    assert not is_countersigned_by(keys, replace(other, statement=replace(STATEMENT, seq=13)))


def test_long_text_is_refused(key_file: Path) -> None:
    signed = sign_statement(load_signing_key(key_file), STATEMENT)
    for length, accepted in ((128, True), (129, False)):
        text = "x" * length
        for each in (
            replace(signed, signature=text),
            replace(signed, key_id=text),
            replace(signed, statement=replace(STATEMENT, commit_hash=text)),
            replace(signed, statement=replace(STATEMENT, replaces=Head(1, text))),
        ):
            assert (parse_line(each.line() + b"\n") is not None) == accepted, each


def test_statements_of_a_retired_key_still_verify(key_file: Path) -> None:
    old = sign_statement(load_signing_key(key_file), STATEMENT)
    key_file.rename(key_file.with_name("retired"))
    new = sign_statement(load_signing_key(key_file), STATEMENT)
    keys = load_public_keys(get_public_keys_path(key_file))
    assert old.key_id != new.key_id
    assert is_signed_by(keys, old)
    assert is_signed_by(keys, new)


def test_a_lost_public_key_is_written_again(key_file: Path) -> None:
    signed = sign_statement(load_signing_key(key_file), STATEMENT)
    get_public_keys_path(key_file).unlink()
    load_signing_key(key_file)
    assert is_signed_by(load_public_keys(get_public_keys_path(key_file)), signed)


def test_appended_checkpoints_are_read_back(key_file: Path, log: Path) -> None:
    key = load_signing_key(key_file)
    written = [sign_statement(key, replace(STATEMENT, seq=seq)) for seq in range(5)]
    append_statements(log, written[:2])
    append_statements(log, written[2:])
    assert list(read(log)) == written


def test_lines_and_their_folder_are_synced(
    key_file: Path, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without both, a power failure could lose a checkpoint that is reported as signed."""
    signed = sign_statement(load_signing_key(key_file), STATEMENT)
    synced: list[tuple[int, bytes]] = []
    fsync = os.fsync

    def record(descriptor: int) -> None:
        synced.append((os.fstat(descriptor).st_ino, log.read_bytes()))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", record)
    for number in (1, 2):
        synced.clear()
        append_statements(log, [signed])
        content = number * (signed.line() + b"\n")
        assert synced == [(log.stat().st_ino, content), (log.parent.stat().st_ino, content)]


def test_truncated_last_line_is_reported_and_the_next_is_complete(
    key_file: Path, log: Path
) -> None:
    one, two = (
        sign_statement(load_signing_key(key_file), replace(STATEMENT, seq=seq)) for seq in (1, 2)
    )
    append_statements(log, [one, two])
    whole = log.read_bytes()
    for cut in range(len(one.line()) + 2, len(whole)):
        log.write_bytes(whole[:cut])
        assert list(read(log)) == [one, None]
    append_statements(log, [two])
    assert list(read(log)) == [one, two]


def test_long_truncated_line_does_not_affect_the_previous_one(key_file: Path, log: Path) -> None:
    one = sign_statement(load_signing_key(key_file), STATEMENT)
    append_statements(log, [one])
    with log.open("ab") as file:
        file.write(b"x" * 10_000)
    append_statements(log, [one])
    assert list(read(log)) == [one, one]


def test_edited_line_is_reported_and_others_are_read(key_file: Path, log: Path) -> None:
    one = sign_statement(load_signing_key(key_file), STATEMENT)
    record = json.loads(one.line())
    bad = [
        b"",
        b"[1]",
        b"{}",
        b"\xff",
        b"[" * 100_000,
        json.dumps(record).encode(),  # the same in another notation
        json.dumps({**record, "note": 1}, sort_keys=True, separators=(",", ":")).encode(),
        one.line().replace(b'"seq":12', b'"seq":"12 "').replace(b"2026-03", b"2026-99"),
    ]
    log.parent.mkdir()
    log.write_bytes(b"".join(line + b"\n" for line in [one.line(), *bad, one.line()]))
    lines = list(read(log))
    assert lines == [one, *[None] * 8, one]


def test_two_writers_do_not_mix_their_lines(key_file: Path, log: Path) -> None:
    key = load_signing_key(key_file)
    batches = [
        [sign_statement(key, replace(STATEMENT, seq=n * 100 + m)) for m in range(20)]
        for n in range(8)
    ]
    with multiprocessing.get_context("fork").Pool(4) as pool:
        pool.starmap(append_statements, [(log, batch) for batch in batches])
    lines = [line for line in read(log) if line]
    assert sorted(line.statement.seq for line in lines) == [
        n * 100 + m for n in range(8) for m in range(20)
    ]
