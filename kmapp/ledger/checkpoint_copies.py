"""Copies of the checkpoint file elsewhere: at another path, and at a peer that countersigns.

A copy reveals that an older checkpoint file was put back together with an older database.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any, Protocol

import httpcore2
from django.conf import settings

from kmapp.ledger.canonical import encode_canonical
from kmapp.ledger.checkpoint_file import CheckpointFile, get_shared_file
from kmapp.ledger.signing import (
    Signed,
    append_statements,
    is_countersigned_by,
    load_public_keys,
    lock_for_signing,
    parse_line,
)

MAX_STATEMENTS = 500  # statements in one request
STEP_TIMEOUT_SECONDS = 10.0  # for each step of a request


class CopyFailed(Exception):
    """A copy could not be read or written; it is tried again."""


class PeerRefused(CopyFailed):
    """The peer refused a statement; it stored the others of the request."""


class Copy(Protocol):
    name: str

    def load(self) -> Sequence[Signed]:
        """Return the newest statements of each account, in order."""

    def store(self, statements: Sequence[Signed]) -> None:
        """Store statements. Those that are stored already are skipped."""


def list_configured_copies() -> list[Copy]:
    copies: list[Copy] = []
    if settings.CHECKPOINT_COPY_FILE:
        copies.append(FileCopy(Path(settings.CHECKPOINT_COPY_FILE)))
    if settings.CHECKPOINT_PEER_URL:
        copies.append(Peer(settings.CHECKPOINT_PEER_URL, settings.CHECKPOINT_PEER_KEY))
    return copies


@dataclass
class FileCopy:
    """The same lines in a file at another path, such as another disk or a mounted folder."""

    path: Path
    name: str = "file"
    file: CheckpointFile = field(init=False)

    def __post_init__(self) -> None:
        self.file = CheckpointFile(self.path)

    def load(self) -> Sequence[Signed]:
        return self.file.list_missing_from({})

    def store(self, statements: Sequence[Signed]) -> None:
        with lock_for_signing(self.path):
            stored = self.file.all()
            new = [each for each in statements if stored.get(each.statement.account) != each]
            if new:
                append_statements(self.path, new)
                self.file.rotate_if_long()


@dataclass
class Peer:
    """Another kmapp, which stores the statements and signs them with its own key.

    A service in its place may need no key, and sign nothing.
    """

    url: str
    key: str
    name: str = "peer"

    def load(self) -> Sequence[Signed]:
        return parse_records(self._request("GET"))

    def store(self, statements: Sequence[Signed]) -> None:
        """Store the countersignatures next to the checkpoint file.

        A statement that the peer refuses does not keep later parts from being sent.
        """
        refusal: PeerRefused | None = None
        for start in range(0, len(statements), MAX_STATEMENTS):
            try:
                self._store_part(statements[start : start + MAX_STATEMENTS])
            except PeerRefused as error:
                refusal = refusal or error
        if refusal:
            raise refusal

    def _store_part(self, part: Sequence[Signed]) -> None:
        answer = self._request("POST", {"checkpoints": [each.record() for each in part]})
        countersigned = parse_records(answer)
        if [each.statement for each in countersigned] != [each.statement for each in part]:
            raise CopyFailed("The peer returned other statements than it was sent.")
        self._verify(countersigned)
        path = settings.CHECKPOINT_FILE.with_name("countersigned.ndjson")
        with lock_for_signing(path):
            append_statements(path, countersigned)
            get_shared_file(path).rotate_if_long()

    def _verify(self, countersigned: Sequence[Signed]) -> None:
        """Raise CopyFailed unless the peer signed these, if its public keys are configured."""
        if not settings.CHECKPOINT_PEER_PUBLIC_KEYS:
            return
        keys = load_public_keys(Path(settings.CHECKPOINT_PEER_PUBLIC_KEYS))
        if not all(is_countersigned_by(keys, each) for each in countersigned):
            raise CopyFailed("A countersignature is not of the peer's key.")

    def _request(self, method: str, body: Any = None) -> Any:
        headers: dict[bytes | str, bytes | str] = {"Content-Type": "application/json"}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        timeout = dict.fromkeys(("connect", "read", "write", "pool"), STEP_TIMEOUT_SECONDS)
        try:
            answer = httpcore2.request(
                method,
                f"{self.url}/v1/checkpoints",
                headers=headers,
                content=None if body is None else json.dumps(body).encode(),
                extensions={"timeout": timeout},
            )
            if answer.status != HTTPStatus.OK:
                failure = PeerRefused if answer.status == HTTPStatus.CONFLICT else CopyFailed
                raise failure(f"The peer returned HTTP status {answer.status}.")
            return json.loads(answer.content)
        except (OSError, ValueError, httpcore2.NetworkError, httpcore2.ProtocolError) as error:
            raise CopyFailed("The peer could not be reached.") from error
        except httpcore2.TimeoutException as error:
            raise CopyFailed(
                f"The peer did not respond within {STEP_TIMEOUT_SECONDS:.0f} seconds."
            ) from error


def parse_records(body: Any) -> list[Signed]:
    """Return the statements of a response or a request; raise CopyFailed if one is damaged."""
    records: Iterable[Any] = body.get("checkpoints", ()) if isinstance(body, dict) else ()
    try:
        statements = [parse_line(encode_canonical(record) + b"\n") for record in records]
    except (ValueError, TypeError, RecursionError):  # a value without a canonical form
        statements = [None]
    if None in statements:
        raise CopyFailed("A statement is damaged.")
    return [each for each in statements if each]
