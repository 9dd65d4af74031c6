"""The hash chain: commit hashes and verification of links. Pure.

The hash covers every column of the commit, including id, account and format, so that an edit of any
of them is detected.
"""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from kmapp.ledger.canonical import encode_canonical

COMMIT_FORMAT = 1


class Head(NamedTuple):
    """The last commit of a chain."""

    seq: int
    commit_hash: str


GENESIS_HASH = "0" * 64  # the parent of the first commit
EMPTY_CHAIN_HEAD = Head(0, GENESIS_HASH)


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """One commit: all columns of its row except the hash."""

    format: int = COMMIT_FORMAT
    id: UUID
    account: UUID
    seq: int
    parent_hash: str
    actor: str
    created_at: datetime
    input_digest: str
    diff: Any


def build_hash_prefix(link: Link) -> str:
    """Return the text that is hashed for a link, up to the hash of its parent.

    `link` must have GENESIS_HASH as its parent's hash. That hash and the number come last in the
    text, so that the database can complete it.
    """
    rest = f'{GENESIS_HASH}","seq":{link.seq}}}'
    text = encode_canonical(_serialize_link(link)).decode()
    if not text.endswith(rest):
        raise ValueError("The text of a link ends with the hash of its parent and its number.")
    return text.removesuffix(rest)


@dataclass(frozen=True, slots=True)
class ChainProblem:
    seq: int
    kind: str  # "gap", "parent", "hash", "account", "rewritten" or "checkpoint"
    message: str


def compute_commit_hash(link: Link) -> str:
    """Return the hash that the next commit names as its parent."""
    if link.format != COMMIT_FORMAT:
        raise ValueError(f"Commit format {link.format} is unknown.")
    return hashlib.sha256(encode_canonical(_serialize_link(link))).hexdigest()


def _serialize_link(link: Link) -> dict[str, Any]:
    return {field.name: getattr(link, field.name) for field in fields(Link)}


def verify_links(
    links: Iterable[tuple[Link, str]], *, after: Head = EMPTY_CHAIN_HEAD
) -> Iterator[ChainProblem]:
    """Yield the problems of links in order, each with its stored hash; `after` precedes the first.

    Each link is compared with the stored hash of the previous one: one edit is one problem, and the
    rest of the chain is still checked.
    """
    account: UUID | None = None
    head = after
    for link, stored_hash in links:
        if account not in (None, link.account):
            yield ChainProblem(link.seq, "account", f"belongs to account {link.account}")
        account = account or link.account
        if link.seq != head.seq + 1:
            yield ChainProblem(link.seq, "gap", f"follows number {head.seq}")
        if link.parent_hash != head.commit_hash:
            yield ChainProblem(link.seq, "parent", "does not name the commit before it")
        if not _has_hash(link, stored_hash):
            yield ChainProblem(link.seq, "hash", "differs from its sealed state")
        head = Head(link.seq, stored_hash)


def _has_hash(link: Link, stored_hash: str) -> bool:
    try:
        return compute_commit_hash(link) == stored_hash
    except ValueError:  # an unknown format, or a value without a canonical form
        return False
