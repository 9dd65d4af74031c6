"""Checkpoints: signed heads of chains, stored outside the database. No Django.

A rewritten suffix, a cut tail or a restored old dump is a valid chain; only something outside the
database shows that there was more. The file is append-only, one JSON object per line. The private
key is outside the database too; `KEY.pub` collects all public keys, so that statements signed with
a retired key still verify.
"""

import base64
import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from django.utils import timezone

from kmapp.ledger.canonical import encode_canonical
from kmapp.ledger.chain import Head
from kmapp.runtime.private_files import create_private_file, sync_folder

_PEM = serialization.Encoding.PEM
_FORBIDDEN_MODE = 0o037  # others may do nothing, the group may at most read
_MAX_TEXT_LENGTH = 128  # characters of a signature, a key ID or a hash
# The body of a statement starts with "{", so a countersignature is never a valid signature of a
# checkpoint.
_COUNTERSIGNATURE_PREFIX = b"kmapp countersignature\n"


class KeyExposed(Exception):
    """Other accounts can read or change the private key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """The head of an account's chain at a time.

    `replaces` is the signed head that a person gave up when they accepted an older copy.
    """

    account: UUID
    seq: int
    commit_hash: str
    created_at: datetime
    replaces: Head | None = None

    @property
    def head(self) -> Head:
        return Head(self.seq, self.commit_hash)

    @property
    def heads(self) -> list[Head]:
        return [self.head, self.replaces] if self.replaces else [self.head]

    def body(self) -> bytes:
        """Return the canonical JSON that is signed."""
        fields = asdict(self)
        if self.replaces is None:
            del fields["replaces"]
        else:
            fields["replaces"] = self.replaces._asdict()
        return encode_canonical(fields)


@dataclass(frozen=True, slots=True, kw_only=True)
class Signed:
    """A statement with the signature over its canonical JSON."""

    statement: Statement
    signature: str  # base64
    key_id: str

    @property
    def created_at(self) -> datetime:
        return self.statement.created_at

    def line(self) -> bytes:
        return encode_canonical(self.record())

    def record(self) -> dict[str, Any]:
        fields = json.loads(self.statement.body())
        return {"key": self.key_id, "signature": self.signature, "statement": fields}


def compute_key_id(public: Ed25519PublicKey) -> str:
    """Return a short name of a key: the start of the SHA-256 of its raw bytes."""
    return hashlib.sha256(public.public_bytes_raw()).hexdigest()[:16]


def format_public_key(public: Ed25519PublicKey) -> str:
    return public.public_bytes(_PEM, serialization.PublicFormat.SubjectPublicKeyInfo).decode()


def load_signing_key(path: Path) -> Ed25519PrivateKey:
    if not path.exists():
        _create_key(path)
    if path.stat().st_mode & _FORBIDDEN_MODE:
        raise KeyExposed(f"{path} is open to others: chmod 600 {path}")
    key = serialization.load_pem_private_key(path.read_bytes(), password=None)
    if not isinstance(key, Ed25519PrivateKey):
        raise TypeError(f"{path} contains a {type(key).__name__}, not an Ed25519 key.")
    _write_public_key(key.public_key(), get_public_keys_path(path))
    return key


def get_public_keys_path(path: Path) -> Path:
    """Return the file with the public keys of the private key at `path`."""
    return path.with_name(path.name + ".pub")


def load_public_keys(path: Path) -> dict[str, Ed25519PublicKey]:
    """Return the public keys in a PEM file, by key id. See `get_public_keys_path`."""
    return _parse_public_keys(path.read_text(), path.name)


def store_public_keys(pem: bytes, path: Path) -> None:
    for key in _parse_public_keys(pem.decode(), "The other file").values():
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        _write_public_key(key, path)


def _parse_public_keys(text: str, name: str) -> dict[str, Ed25519PublicKey]:
    end = "-----END PUBLIC KEY-----\n"
    keys = {}
    for block in text.split(end)[:-1]:
        key = serialization.load_pem_public_key((block + end).encode())
        if not isinstance(key, Ed25519PublicKey):
            raise TypeError(f"{name} contains a {type(key).__name__}, not an Ed25519 key.")
        keys[compute_key_id(key)] = key
    return keys


def sign_statement(key: Ed25519PrivateKey, statement: Statement) -> Signed:
    """Sign a statement about a chain of this installation."""
    return _sign(key, statement, b"")


def countersign_statement(key: Ed25519PrivateKey, statement: Statement) -> Signed:
    """Sign a statement of another installation. The result is not a checkpoint of this one."""
    return _sign(key, statement, _COUNTERSIGNATURE_PREFIX)


def is_signed_by(keys: Mapping[str, Ed25519PublicKey], signed: Signed) -> bool:
    """Return whether one of these keys signed exactly this as its own checkpoint."""
    return _verify(keys, signed, b"")


def is_countersigned_by(keys: Mapping[str, Ed25519PublicKey], signed: Signed) -> bool:
    """Return whether one of these keys countersigned exactly this."""
    return _verify(keys, signed, _COUNTERSIGNATURE_PREFIX)


def _sign(key: Ed25519PrivateKey, statement: Statement, prefix: bytes) -> Signed:
    signature = key.sign(prefix + statement.body())
    return Signed(
        statement=statement,
        signature=base64.b64encode(signature).decode(),
        key_id=compute_key_id(key.public_key()),
    )


def _verify(keys: Mapping[str, Ed25519PublicKey], signed: Signed, prefix: bytes) -> bool:
    try:
        signature = base64.b64decode(signed.signature, validate=True)
        keys[signed.key_id].verify(signature, prefix + signed.statement.body())
    except (KeyError, InvalidSignature, ValueError):
        return False
    return True


def compute_next_time(before: datetime | None) -> datetime:
    """Return the time for a statement that follows one of `before`, even on a clock set back."""
    now = timezone.now()
    return max(now, before + timedelta(microseconds=1)) if before else now


@contextmanager
def lock_for_signing(path: Path) -> Iterator[None]:
    """Let one thread of all processes sign into the file; others wait for it."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with path.with_name(path.name + ".lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def append_statements(path: Path, records: Iterable[Signed]) -> None:
    """Append statements to the file and wait until they are on disk.

    A line that a crash cut short is removed first, so that the next line does not continue it.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with path.open("a+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        whole = _find_end_of_last_line(file.fileno())
        if whole != os.fstat(file.fileno()).st_size:
            file.truncate(whole)
        file.write(b"".join(record.line() + b"\n" for record in records))
        file.flush()
        os.fsync(file.fileno())
    sync_folder(path.parent)


def replace_file(path: Path, new: Path, *, old: Path) -> None:
    """Put the file `new` at `path`, and keep the one that was there as `old`."""
    try:
        old.hardlink_to(path)
    except OSError:  # a file system without hard links
        shutil.copyfile(path, old)
    new.replace(path)
    sync_folder(path.parent)


def parse_line(line: bytes) -> Signed | None:
    """Parse one line of the file, or return None. Its signature is not verified."""
    try:
        record = json.loads(line)
        fields = record["statement"]
        statement = Statement(
            account=UUID(fields["account"]),
            seq=fields["seq"],
            commit_hash=fields["commit_hash"],
            created_at=datetime.fromisoformat(fields["created_at"]),
            replaces=Head(**fields["replaces"]) if "replaces" in fields else None,
        )
        signed = Signed(statement=statement, signature=record["signature"], key_id=record["key"])
        texts = [signed.signature, signed.key_id, *(head.commit_hash for head in statement.heads)]
        numbers = [head.seq for head in statement.heads]
        if {*map(type, texts)} != {str} or {*map(type, numbers)} != {int}:
            return None
        if max(map(len, texts)) > _MAX_TEXT_LENGTH:
            return None
        # A statement has one representation, so that a line contains nothing unsigned.
        return signed if signed.line() + b"\n" == line else None
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _create_key(path: Path) -> None:
    secret = Ed25519PrivateKey.generate().private_bytes(
        _PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    create_private_file(path, secret)


def _write_public_key(public: Ed25519PublicKey, path: Path) -> None:
    if not path.exists() or compute_key_id(public) not in load_public_keys(path):
        with path.open("a") as file:
            file.write(format_public_key(public))


def _find_end_of_last_line(descriptor: int) -> int:
    position = os.fstat(descriptor).st_size
    while position:
        start = max(0, position - 4096)
        newline = os.pread(descriptor, position - start, start).rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        position = start
    return 0
