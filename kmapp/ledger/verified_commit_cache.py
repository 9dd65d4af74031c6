"""Changes that commits sealed, verified once and cached in the process.

A commit never changes. So what it sealed when it was verified is the reference for rows, even if
someone edits the commit later.
"""

from collections.abc import Collection, Iterable
from hashlib import blake2b
from typing import Any
from uuid import UUID

from kmapp.database.raw_sql import fetch_all
from kmapp.ledger.chain import GENESIS_HASH
from kmapp.ledger.fsck.hashing import FORMAT_TIME_SQL, CommitRow, compute_commit_hash, parse_jsonb
from kmapp.runtime.in_process_caches import LruCache

MAX_CACHE_BYTES = 32 * 2**20
CHANGE_BYTES = 16  # bytes of a change
COMMIT_OVERHEAD_BYTES = 400  # bytes that a cached commit takes in addition to its changes

SealedChanges = bytes  # packed changes, one after the other
# A commit is part of the chain if its parent is: the database allows one child for each parent.
_COMMITS_SQL = f"""
SELECT c.id::text, c.format, c.seq, c.parent_hash, c.commit_hash, c.actor,
  {FORMAT_TIME_SQL.format("c.created_at")}, c.input_digest, c.diff::text, NULL, NULL, '',
  CASE WHEN c.seq = 1 THEN c.parent_hash = %s ELSE EXISTS (
    SELECT FROM ledger_commit p WHERE p.account_id = c.account_id AND p.seq = c.seq - 1
       AND p.commit_hash = c.parent_hash) END
FROM ledger_commit c WHERE c.account_id = %s AND c.id = ANY (%s::uuid[])
"""  # noqa: S608 - constants


# The changes of the commits that were used last, by the id of the commit.
commit_cache: LruCache[SealedChanges] = LruCache(
    MAX_CACHE_BYTES, size_of=lambda changes: len(changes) + COMMIT_OVERHEAD_BYTES
)


def is_sealed(changes: SealedChanges, name: str, digest: str) -> bool:
    """Return whether a commit with these changes sealed an object with this digest."""
    return _pack_change(name, digest) in changes


def load_sealed_changes(
    account_id: UUID, commit_ids: Collection[UUID]
) -> dict[UUID, SealedChanges]:
    """Return the changes of each valid commit. No query if all are cached. Inside `acting`."""
    cached = {pk: commit_cache.get(pk) for pk in commit_ids}
    verified = {pk: changes for pk, changes in cached.items() if changes is not None}
    if missing := cached.keys() - verified.keys():
        for pk, changes in _load(account_id, missing).items():
            commit_cache.put(pk, changes)
            verified[pk] = changes
    return verified


def _load(account_id: UUID, commit_ids: Iterable[UUID]) -> dict[UUID, SealedChanges]:
    verified = {}
    for *columns, is_linked in fetch_all(
        _COMMITS_SQL, [GENESIS_HASH, account_id, list(commit_ids)]
    ):
        commit = CommitRow(*columns)
        diff = parse_jsonb(commit.diff)
        if is_linked and compute_commit_hash(str(account_id), commit, diff) == commit.commit_hash:
            verified[UUID(commit.id)] = _pack_changes(diff)
    return verified


def _pack_changes(diff: Any) -> SealedChanges:
    """Return the packed changes of a diff. Malformed ones of an intruder seal nothing."""
    return b"".join(
        _pack_change(change["object"], change["digest"])
        for change in (diff if isinstance(diff, list) else ())
        if isinstance(change, dict) and change.get("object") and change.get("digest")
    )


def _pack_change(name: str, digest: str) -> bytes:
    return blake2b(f"{name} {digest}".encode(), digest_size=CHANGE_BYTES).digest()
