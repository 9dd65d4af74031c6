"""Verification of an account's chain with the notes and states of each commit."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from psycopg import sql

from kmapp.ledger.fsck.database_snapshot import Snapshot
from kmapp.ledger.fsck.findings import Findings
from kmapp.ledger.fsck.hashing import (
    FORMAT_TIME_SQL,
    CommitRow,
    compute_commit_hash,
    compute_digest,
    parse_jsonb,
)
from kmapp.ledger.fsck.sealed_tables import HISTORIES, StateHistory, get_object_type

_COMMITS_SQL = sql.SQL(
    "SELECT c.id::text, c.format, c.seq, c.parent_hash, c.commit_hash, c.actor, {time},"
    " c.input_digest, c.diff::text, n.salt, n.input::text, coalesce(n.reason, '')"
    " FROM ledger_commit c"
    " LEFT JOIN ledger_note n ON n.account_id = c.account_id AND n.commit_id = c.id"
    " WHERE c.account_id = %s ORDER BY c.seq"
).format(time=sql.SQL(FORMAT_TIME_SQL).format(sql.Identifier("c", "created_at")))
_STATES_SQL = """
SELECT s.commit_id::text, s.object_id::text, s.salt, v.state::text, v.event, v.actor, v.version
  FROM ledger_seal s LEFT JOIN {table} v
    ON v.account_id = s.account_id AND v.{owner} = s.object_id AND v.commit_id = s.commit_id
 WHERE s.account_id = %s AND s.object_type = %s AND s.commit_id = ANY (%s)
"""
_UNKNOWN_STATES_SQL = """
SELECT v.{owner}::text, v.version FROM {table} v
 WHERE v.account_id = %s AND NOT EXISTS (
   SELECT FROM ledger_seal s WHERE s.account_id = v.account_id AND s.object_type = %s
      AND s.object_id = v.{owner} AND s.commit_id = v.commit_id)
"""
Change = dict[str, Any]


class SealedChange(NamedTuple):
    """The last change of an object in a chain. No digest means that it was erased."""

    seq: int
    commit: str
    digest: str | None


@dataclass
class Chain:
    """The state of a chain after the commits that were read."""

    seq: int = 0
    head: str = "0" * 64
    last_changes: dict[str, SealedChange] = field(default_factory=dict)  # by object
    # Problems unless an object was erased by a later commit: (seq, kind, objects, message).
    unconfirmed_problems: list[tuple[int, str, Sequence[str], str]] = field(default_factory=list)


def walk_chain(snapshot: Snapshot, findings: Findings, signed: Mapping[int, str]) -> Chain:
    """Check the account's chain; `signed` are the hashes of the checkpoints, by number."""
    chain = Chain()
    for block in snapshot.stream_blocks(_COMMITS_SQL, snapshot.account):
        commits = [
            (commit, parse_jsonb(commit.diff)) for commit in (CommitRow(*row) for row in block)
        ]
        for commit, diff in commits:
            for kind, message in _list_problems(snapshot.account, chain, commit, diff, signed):
                findings.add(kind, message, snapshot.account, commit.seq)
            chain.seq, chain.head = commit.seq, commit.commit_hash
            for change in _list_changes(diff):
                chain.last_changes[change["object"]] = SealedChange(
                    commit.seq, commit.id, change["digest"]
                )
            _check_note(snapshot, findings, chain, commit, diff)
        findings.commits += len(commits)
        for table, history in HISTORIES.items():
            _check_states(snapshot, findings, chain, (get_object_type(table), history), commits)
    _report_unknown_and_missing(snapshot, findings, chain)
    return chain


def _report_unknown_and_missing(snapshot: Snapshot, findings: Findings, chain: Chain) -> None:
    for table, history in HISTORIES.items():
        kind = get_object_type(table)
        query = _format_query(_UNKNOWN_STATES_SQL, history)
        for owner, version in snapshot.stream(query, snapshot.account, kind):
            message = f"version {version} was never sealed"
            findings.add("version", message, snapshot.account, name=f"{kind}:{owner}")
    for seq, kind, objects, message in chain.unconfirmed_problems:
        if not any(
            name in chain.last_changes and chain.last_changes[name].digest is None
            for name in objects
        ):
            name = objects[0] if len(objects) == 1 else ""
            findings.add(kind, message, snapshot.account, seq, name)


def _list_problems(
    account: str, chain: Chain, commit: CommitRow, diff: Any, signed: Mapping[int, str]
) -> Iterator[tuple[str, str]]:
    if commit.seq != chain.seq + 1:
        yield "gap", f"follows commit {chain.seq}"
    if commit.parent_hash != chain.head:
        yield "parent", "does not name the commit before it"
    if commit.format != 1:
        yield "format", f"has the format {commit.format}, which is unknown"
    if compute_commit_hash(account, commit, diff) != commit.commit_hash:
        yield "hash", "differs from its sealed state"
    if signed.get(commit.seq, commit.commit_hash) != commit.commit_hash:
        yield "rewritten", "is not the commit that a checkpoint signed"


def _list_changes(diff: Any) -> Iterator[Change]:
    """Return the changes of a diff. A malformed diff has been reported by its hash."""
    for change in diff if isinstance(diff, list) else ():
        if not isinstance(change, dict) or not {"object", "op", "digest"} <= change.keys():
            continue
        if isinstance(change["object"], str):
            yield change


def _check_note(
    snapshot: Snapshot, findings: Findings, chain: Chain, commit: CommitRow, diff: Any
) -> None:
    if commit.salt is None and commit.input is None and not commit.reason:
        objects = [change["object"] for change in _list_changes(diff)]
        chain.unconfirmed_problems.append(
            (commit.seq, "note", objects, "its input and reason are missing")
        )
        return
    contents = {"input": parse_jsonb(commit.input), "reason": commit.reason}
    if compute_digest(commit.salt or b"", contents) != commit.input_digest:
        message = "its input or reason differs from its sealed state"
        findings.add("note", message, snapshot.account, commit.seq)


def _check_states(
    snapshot: Snapshot,
    findings: Findings,
    chain: Chain,
    history: tuple[str, StateHistory],
    commits: Sequence[tuple[CommitRow, Any]],
) -> None:
    """Check that every state in a history is the one that its commit sealed."""
    kind, table = history
    ids = [commit.id for commit, _ in commits]
    rows = snapshot.fetch_all(_format_query(_STATES_SQL, table), snapshot.account, kind, ids)
    states = {(row[0], f"{kind}:{row[1]}"): row[2:] for row in rows}
    for commit, diff in commits:
        for change in _list_changes(diff):
            name = str(change["object"])
            if change["digest"] is None or not name.startswith(kind + ":"):
                continue
            salt, *state = states.get((commit.id, name), (None, None))
            if salt is None or state[0] is None:
                chain.unconfirmed_problems.append(
                    (commit.seq, "version", [name], "the sealed state is missing")
                )
                continue
            findings.versions += 1
            if not _is_sealed_state(commit, change, salt, state):
                message = "the stored version differs from its sealed state"
                findings.add("version", message, snapshot.account, commit.seq, name)


def _is_sealed_state(commit: CommitRow, change: Change, salt: bytes, row: Sequence[Any]) -> bool:
    text, event, actor, version = row
    state = parse_jsonb(text)
    sealed: bool = isinstance(state, dict) and compute_digest(salt, state) == change["digest"]
    return sealed and (event, actor, version) == (change["op"], commit.actor, state.get("version"))


def _format_query(query: str, history: StateHistory) -> sql.Composed:
    return sql.SQL(query).format(
        table=sql.Identifier(history.table), owner=sql.Identifier(history.owner)
    )
