"""Verification against the signed checkpoints outside the database."""

import base64
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from psycopg import sql

from kmapp.ledger.fsck.chain import Chain
from kmapp.ledger.fsck.database_snapshot import Snapshot
from kmapp.ledger.fsck.findings import Findings
from kmapp.ledger.fsck.hashing import FORMAT_TIME_SQL, encode_canonical

_KEY_END = "-----END PUBLIC KEY-----\n"
NOT_IN_FILE = "is not in the file"
_STATEMENT_FIELDS = ("account", "commit_hash", "created_at", "seq")
_COPIES_SQL = sql.SQL(
    "SELECT account_id::text, commit_hash, {time}, seq, signature, key_id FROM ledger_checkpoint"
    " WHERE account_id = %s ORDER BY seq"
).format(time=sql.SQL(FORMAT_TIME_SQL).format(sql.Identifier("created_at")))
Keys = Mapping[str, Ed25519PublicKey]


@dataclass
class SignedCheckpoints:
    """Valid checkpoints: for each account the hash at each number, and the trusted keys."""

    keys: Keys
    hashes: dict[str, dict[int, str]] = field(default_factory=lambda: defaultdict(dict))
    notes: list[str] = field(default_factory=list)  # about accepted losses

    def accept_loss(self, statement: Mapping[str, Any], replaced: Mapping[str, Any]) -> None:
        """Expect the chain that a person accepted, instead of the one signed before."""
        account, seq = statement["account"], statement["seq"]
        self.hashes[account] = {seq: statement["commit_hash"]} if seq else {}
        self.notes.append(
            f"account {account}: commit {replaced['seq']} was signed and given up on"
            f" {statement['created_at']}; commit {seq} was accepted instead"
        )


def load_public_keys(paths: Iterable[Path]) -> dict[str, Ed25519PublicKey]:
    keys = {}
    for path in paths:
        for block in path.read_text().split(_KEY_END)[:-1]:
            key = load_pem_public_key((block + _KEY_END).encode())
            if isinstance(key, Ed25519PublicKey):
                keys[sha256(key.public_bytes_raw()).hexdigest()[:16]] = key
    return keys


def read_checkpoints(path: Path, keys: Keys, findings: Findings) -> SignedCheckpoints:
    """Read the statements of the file. Call it before the snapshot is taken."""
    checkpoints = SignedCheckpoints(keys)
    if not path.exists():
        findings.notes.append(f"checkpoint file {path} does not exist")
        return checkpoints
    with path.open("rb") as file:
        for line_number, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                findings.notes.append(f"the last line of {path} was cut short by a crash")
                break
            if error := _add_statement(line, checkpoints):
                findings.add("checkpoint", f"line {line_number} of {path} {error}")
            findings.checkpoints += 1
    findings.notes += checkpoints.notes
    return checkpoints


def _add_statement(line: bytes, checkpoints: SignedCheckpoints) -> str | None:
    """Add the statement of a line, or return what is wrong with it."""
    try:
        record = json.loads(line)
        statement = record["statement"]
        names = tuple(sorted(statement.keys() - {"replaces"}))
        if names != _STATEMENT_FIELDS or not isinstance(statement["seq"], int):
            return "is not a statement"
        if error := _check_signature(checkpoints.keys, record):
            return error
    except (ValueError, KeyError, TypeError, RecursionError):
        return "is damaged"
    if replaced := statement.get("replaces"):
        checkpoints.accept_loss(statement, replaced)
        return None
    before = checkpoints.hashes[statement["account"]].setdefault(
        statement["seq"], statement["commit_hash"]
    )
    return None if before == statement["commit_hash"] else "contradicts an earlier line"


def _check_signature(keys: Keys, record: Mapping[str, Any]) -> str | None:
    """Return what is wrong with a signature; raise ValueError if it is not base64."""
    key = keys.get(record["key"])
    if key is None:
        return "is signed with an unknown key"
    try:
        signature = base64.b64decode(record["signature"], validate=True)
        key.verify(signature, encode_canonical(record["statement"]))
    except InvalidSignature:
        return "differs from what was signed"
    return None


def check_checkpoints(
    snapshot: Snapshot,
    findings: Findings,
    chain: Chain,
    checkpoints: SignedCheckpoints,
    read_again: Callable[[], SignedCheckpoints],
) -> None:
    """Check that the chain reaches its checkpoints and that the copies in the database match.

    `read_again` returns the checkpoints that are in the file now: some may have been signed and
    copied between the first read and the snapshot.
    """
    hashes: dict[int, Any] = checkpoints.hashes.get(snapshot.account, {})
    signed = max(hashes, default=0)
    if signed > chain.seq:
        message = (
            f"ends at commit {chain.seq}, but commit {signed} was signed: an older copy of the"
            " database was put back, or later commits were deleted"
        )
        findings.add("cut", message, snapshot.account, signed)
    for row in snapshot.fetch_all(_COPIES_SQL, snapshot.account):
        *values, signature, key = row
        statement = dict(zip(_STATEMENT_FIELDS, values, strict=True))
        record = {"key": key, "signature": signature, "statement": statement}
        error = _check_copy(checkpoints.keys, hashes, record)
        if error == NOT_IN_FILE:
            hashes_now = read_again().hashes.get(snapshot.account, {})
            error = _check_copy(checkpoints.keys, hashes_now, record)
        if error:
            message = f"the checkpoint in the database {error}"
            findings.add("checkpoint", message, snapshot.account, statement["seq"])


def _check_copy(keys: Keys, hashes: Mapping[int, str], record: Mapping[str, Any]) -> str | None:
    """Return what is wrong with a copy. Its line may be in an older file, which may be deleted."""
    seq, commit_hash = record["statement"]["seq"], record["statement"]["commit_hash"]
    if seq > max(hashes, default=0) or hashes.get(seq, commit_hash) != commit_hash:
        return NOT_IN_FILE
    try:
        return _check_signature(keys, record)
    except ValueError:
        return "is damaged"


def report_missing_accounts(
    accounts: Iterable[str], findings: Findings, checkpoints: SignedCheckpoints
) -> None:
    signed = {account for account, hashes in checkpoints.hashes.items() if hashes}
    for account in sorted(signed - set(accounts)):
        seq = max(checkpoints.hashes[account])
        message = f"the account with {seq} signed commits is missing"
        findings.add("account", message, account, seq)
