"""Verification of rows before agents get them, for accounts with `verify_on_read`.

A row is compared with the digest that its last commit sealed, over all sealed columns. A row that
differs is withheld. One statement reads the seals of all rows, unless they were read with their
`last_seal`; a second one reads the commits that this process has not verified yet.
`manage.py fsck` also verifies what nobody reads.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

import structlog
from django.db import connection
from prometheus_client import Counter

from kmapp.accounts.models import SealedModel
from kmapp.database.raw_sql import fetch_all
from kmapp.errors import Conflict
from kmapp.ledger import models
from kmapp.ledger.canonical import digest_encoded, encode_canonical
from kmapp.ledger.models import Mismatch
from kmapp.ledger.verified_commit_cache import SealedChanges, is_sealed, load_sealed_changes

Reason = Mismatch.Reason
R = TypeVar("R", bound=SealedModel)
S = TypeVar("S", bound=models.State)
ID_LENGTH = len(str(UUID(int=0)))
WITHHELD = "withheld"  # code of the refusals of a row that differs from its seal
log = structlog.get_logger()

WITHHELD_ROWS = Counter(
    "kmapp_ledger_withheld",
    "Rows withheld from agents because they differ from their seal.",
    ["object_type", "reason"],
)


class ObjectKey(NamedTuple):
    """An object of the ledger."""

    object_type: str
    object_id: UUID

    @classmethod
    def of(cls, row: SealedModel) -> "ObjectKey":
        return cls(row._meta.label_lower, row.pk)

    def __str__(self) -> str:
        return f"{self.object_type}:{self.object_id}"


class RowSeal(NamedTuple):
    commit_id: UUID
    salt: bytes

    @classmethod
    def parse(cls, text: str) -> "RowSeal":
        """Return the seal that a statement wrote as the id of the commit and the salt in hex."""
        return cls(UUID(text[:ID_LENGTH]), bytes.fromhex(text[ID_LENGTH:]))


# --- Withheld rows of a request -------------------------------------------------------------------


@dataclass
class WithheldResults:
    """The results that a request did not return, and the rows that differ from their seal."""

    results: set[UUID] = field(default_factory=set)
    mismatches: dict[ObjectKey, Reason] = field(default_factory=dict)


_withheld: ContextVar[WithheldResults | None] = ContextVar("withheld", default=None)


@contextmanager
def collect_withheld() -> Iterator[WithheldResults]:
    """Collect what is withheld inside the block, except in an inner block."""
    collected = WithheldResults()
    token = _withheld.set(collected)
    try:
        yield collected
    finally:
        _withheld.reset(token)


def record_withheld(results: Iterable[UUID], mismatches: Mapping[ObjectKey, Reason]) -> None:
    """Count and log mismatches, and add them to those of the request."""
    for key, reason in mismatches.items():
        log.error("row_withheld", object=str(key), reason=reason.value)
        WITHHELD_ROWS.labels(key.object_type, reason.value).inc()
    if collected := _withheld.get():
        collected.results.update(results)
        collected.mismatches.update(mismatches)


# --- Verification ---------------------------------------------------------------------------------


def withhold_mismatches(account_id: UUID, rows: Sequence[R], *, is_past: bool = False) -> list[R]:
    """Return the rows that match their seal, or all rows if the account does not verify.

    The rows are of one model and from a queryset `with_verify_on_read`. With `is_past`, they are
    earlier states. Inside `acting`.
    """
    if not rows or not rows[0].verify_on_read:
        return list(rows)
    verdict = verify_rows(account_id, rows, is_past=is_past)
    if not verdict.mismatches and not verdict.erased:
        return list(rows)
    record_withheld((key.object_id for key in verdict.mismatches), verdict.mismatches)
    return [row for row in rows if verdict.passes(ObjectKey.of(row))]


def require_sealed(rows: Sequence[SealedModel], message: str) -> None:
    """Raise Conflict unless all rows match their seal: to seal them again would hide an edit.

    The rows are as for `withhold_mismatches`.
    """
    if rows and len(withhold_mismatches(rows[0].account_id, rows)) < len(rows):
        raise Conflict(message, code=WITHHELD)


@dataclass
class Verdict:
    """The rows that differ from their seal, and those that were erased after they were read."""

    mismatches: dict[ObjectKey, Reason] = field(default_factory=dict)
    erased: set[ObjectKey] = field(default_factory=set)

    def passes(self, key: ObjectKey) -> bool:
        return key not in self.mismatches and key not in self.erased


def verify_rows(account_id: UUID, rows: Iterable[SealedModel], *, is_past: bool = False) -> Verdict:
    """Compare rows with their seals. Two statements if all commits are cached and nothing differs.

    A row must refer to its last commit, so that an older state does not pass.
    """
    rows_by_key = {ObjectKey.of(row): row for row in rows}
    seals = (
        _load_seals_of_commits(account_id, rows_by_key)
        if is_past
        else _load_last_seals(account_id, rows_by_key)
    )
    verdict = Verdict()
    differing_keys = [
        key for key, row in rows_by_key.items() if _find_commit(seals, key) != row.commit_id
    ]
    if differing_keys:
        present_commits = _load_present_commits(account_id, rows_by_key, differing_keys)
        verdict.erased = set(differing_keys) - present_commits.keys()
        if is_past:
            verdict.mismatches = dict.fromkeys(present_commits, Reason.UNSEALED)
        else:
            seals |= _load_seals_of_commits(
                account_id, {key: rows_by_key[key] for key in present_commits}
            )
            verdict.mismatches = dict(_recheck_rows(rows_by_key, present_commits, seals))
    passed_rows = {key: row for key, row in rows_by_key.items() if verdict.passes(key)}
    commits = load_sealed_changes(account_id, {row.commit_id for row in passed_rows.values()})
    for key, row in passed_rows.items():
        changes = commits.get(row.commit_id)
        if reason := _find_mismatch(row.body(), seals[key].salt, changes, key):
            verdict.mismatches[key] = reason
    return verdict


def withhold_states(account_id: UUID, key: ObjectKey, states: Sequence[S]) -> list[S]:
    """Return the states of an object that their commits sealed. Inside `acting`.

    Call it for accounts with `verify_on_read`. Only the column `state` is verified; the others are
    not sealed.
    """
    commit_ids = {row.commit_id for row in states}
    rows = models.Seal.objects.of(account_id).filter(**key._asdict(), commit_id__in=commit_ids)
    salts = {pk: bytes(salt) for pk, salt in rows.values_list("commit_id", "salt")}
    commits = load_sealed_changes(account_id, commit_ids)
    differing: dict[UUID, Reason] = {}
    for row in states:
        salt, changes = salts.get(row.commit_id), commits.get(row.commit_id)
        reason = _find_mismatch(row.state, salt, changes, key) if salt else Reason.UNSEALED
        if reason:
            differing[row.pk] = reason
    if differing:
        existing = type(states[0]).objects.of(account_id).filter(pk__in=differing)
        present = set(existing.values_list("pk", flat=True))  # the others were erased meanwhile
        reasons = [reason for pk, reason in differing.items() if pk in present]
        if reasons:
            record_withheld(present, {key: reasons[0]})
    return [row for row in states if row.pk not in differing]


def _find_mismatch(
    state: Mapping[str, Any], salt: bytes, changes: SealedChanges | None, key: ObjectKey
) -> Reason | None:
    if changes is None:
        return Reason.COMMIT
    try:
        digest = digest_encoded(salt, encode_canonical(state))
    except ValueError:  # a value or a salt that the writer would have refused
        return Reason.CHANGED
    return None if is_sealed(changes, str(key), digest) else Reason.CHANGED


def _find_commit(seals: Mapping[ObjectKey, RowSeal], key: ObjectKey) -> UUID | None:
    return seals[key].commit_id if key in seals else None


_LAST_SEALS_SQL = """
SELECT DISTINCT ON (s.object_type, s.object_id) s.object_type, s.object_id, s.commit_id, s.salt
FROM unnest(%s::text[], %s::uuid[]) AS r (object_type, object_id)
JOIN ledger_seal s
  ON s.account_id = %s AND s.object_type = r.object_type AND s.object_id = r.object_id
JOIN ledger_commit c ON c.account_id = s.account_id AND c.id = s.commit_id
ORDER BY s.object_type, s.object_id, c.seq DESC
"""
_SEALS_OF_COMMITS_SQL = """
SELECT s.object_type, s.object_id, s.commit_id, s.salt
FROM unnest(%s::text[], %s::uuid[], %s::uuid[]) AS r (object_type, object_id, commit_id)
JOIN ledger_seal s ON s.account_id = %s AND s.object_type = r.object_type
 AND s.object_id = r.object_id AND s.commit_id = r.commit_id
"""
_PRESENT_COMMITS_SQL = """
SELECT t.id, t.commit_id, (
  SELECT s.commit_id FROM ledger_seal s
  JOIN ledger_commit c ON c.account_id = s.account_id AND c.id = s.commit_id
  WHERE s.account_id = t.account_id AND s.object_type = %s AND s.object_id = t.id
  ORDER BY c.seq DESC LIMIT 1)
FROM {table} t WHERE t.account_id = %s AND t.id = ANY (%s::uuid[])
"""


def _load_last_seals(
    account_id: UUID, rows: Mapping[ObjectKey, SealedModel]
) -> dict[ObjectKey, RowSeal]:
    """Return the last seal of each row, from the row if it was read with it."""
    seal_texts = {key: row.last_seal for key, row in rows.items() if hasattr(row, "last_seal")}
    seals = {key: RowSeal.parse(text) for key, text in seal_texts.items() if text}
    if keys_without_seal := rows.keys() - seal_texts.keys():
        types, ids = _split_keys(keys_without_seal)
        seals |= _load_seals(_LAST_SEALS_SQL, [types, ids, account_id])
    return seals


def _load_seals_of_commits(
    account_id: UUID, rows: Mapping[ObjectKey, SealedModel]
) -> dict[ObjectKey, RowSeal]:
    types, ids = _split_keys(rows)
    commits = [row.commit_id for row in rows.values()]
    return _load_seals(_SEALS_OF_COMMITS_SQL, [types, ids, commits, account_id])


def _split_keys(keys: Iterable[ObjectKey]) -> tuple[list[str], list[UUID]]:
    pairs = list(keys)
    return [key.object_type for key in pairs], [key.object_id for key in pairs]


def _load_seals(query: str, parameters: list[Any]) -> dict[ObjectKey, RowSeal]:
    return {
        ObjectKey(kind, pk): RowSeal(commit_id, bytes(salt))
        for kind, pk, commit_id, salt in fetch_all(query, parameters)
    }


def _load_present_commits(
    account_id: UUID, rows: Mapping[ObjectKey, SealedModel], keys: Sequence[ObjectKey]
) -> dict[ObjectKey, tuple[UUID, UUID | None]]:
    """Return the commit that each row refers to now, and the last commit that sealed it.

    One statement reads a row together with its seals, because a change between two statements
    would look like an older state. Erased rows are missing.
    """
    present: dict[ObjectKey, tuple[UUID, UUID | None]] = {}
    for model in {type(rows[key]) for key in keys}:
        kind = model._meta.label_lower
        ids = [key.object_id for key in keys if key.object_type == kind]
        query = _PRESENT_COMMITS_SQL.format(table=connection.ops.quote_name(model._meta.db_table))
        results = fetch_all(query, [kind, account_id, ids])
        present |= {ObjectKey(kind, pk): (refers_to, last) for pk, refers_to, last in results}
    return present


def _recheck_rows(
    rows: Mapping[ObjectKey, SealedModel],
    present_commits: Mapping[ObjectKey, tuple[UUID, UUID | None]],
    seals: Mapping[ObjectKey, RowSeal],
) -> Iterator[tuple[ObjectKey, Reason]]:
    """Yield the rows that are older states, but not the rows that changed after they were read."""
    for key, (present_commit, last_commit) in present_commits.items():
        if last_commit is None:
            yield key, Reason.UNSEALED
        elif present_commit != last_commit or _find_commit(seals, key) != rows[key].commit_id:
            yield key, Reason.OUTDATED
