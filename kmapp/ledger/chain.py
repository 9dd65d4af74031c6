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

from kmapp.ledger.canonical import canonical

FORMAT = 1


class Head(NamedTuple):
    """The last commit of a chain."""

    seq: int
    commit_hash: str


GENESIS = "0" * 64  # the parent of the first commit
BEGINNING = Head(0, GENESIS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """One commit: all columns of its row except the hash."""

    format: int = FORMAT
    id: UUID
    account: UUID
    seq: int
    parent_hash: str
    actor: str
    created_at: datetime
    input_digest: str
    diff: Any


def open_text(link: Link) -> str:
    """Return what is hashed of a link up to the parent's hash, for which it must have GENESIS.

    The parent's hash and the number come last, so that the database can complete the text.
    """
    rest = f'{GENESIS}","seq":{link.seq}}}'
    text = canonical(_row(link)).decode()
    if not text.endswith(rest):
        raise ValueError("The text of a link ends with the hash of its parent and its number.")
    return text.removesuffix(rest)


@dataclass(frozen=True, slots=True)
class Problem:
    seq: int
    kind: str  # "gap", "parent", "hash" or "account"
    message: str


def commit_hash(link: Link) -> str:
    """Return the hash that the next commit names as its parent."""
    if link.format != FORMAT:
        raise ValueError(f"Commit format {link.format} is unknown.")
    return hashlib.sha256(canonical(_row(link))).hexdigest()


def _row(link: Link) -> dict[str, Any]:
    return {field.name: getattr(link, field.name) for field in fields(Link)}


def verify(links: Iterable[tuple[Link, str]], *, after: Head = BEGINNING) -> Iterator[Problem]:
    """Yield the problems of links in order, each with its stored hash; `after` precedes the first.

    Each link is compared with the stored hash of the previous one: one edit is one problem, and the
    rest of the chain is still checked.
    """
    account: UUID | None = None
    head = after
    for link, stored in links:
        if account not in (None, link.account):
            yield Problem(link.seq, "account", f"belongs to account {link.account}")
        account = account or link.account
        if link.seq != head.seq + 1:
            yield Problem(link.seq, "gap", f"follows number {head.seq}")
        if link.parent_hash != head.commit_hash:
            yield Problem(link.seq, "parent", "does not name the commit before it")
        if not _sealed(link, stored):
            yield Problem(link.seq, "hash", "differs from its sealed state")
        head = Head(link.seq, stored)


def _sealed(link: Link, stored: str) -> bool:
    try:
        return commit_hash(link) == stored
    except ValueError:  # an unknown format, or a value without a canonical form
        return False
