"""Signing of chain heads. Only what follows from the last signed head is signed."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from operator import attrgetter
from uuid import UUID

import structlog
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.conf import settings
from django.utils import timezone

from kmapp.accounts.acting import acting
from kmapp.accounts.sweep import sweep
from kmapp.ledger.chain import BEGINNING, Head, Link, Problem, verify
from kmapp.ledger.checkpoint_status import last_signed
from kmapp.ledger.models import Checkpoint, Commit
from kmapp.ledger.signing import Signed, Statement, append, sign, signing_key
from kmapp.ledger.verify import BLOCK, link_of

log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class Signing:
    """What became of one account's head."""

    account_id: UUID
    head: Head
    problem: Problem | None = None  # then nothing was signed


def checkpoint() -> list[Signing]:
    """Sign every head that moved: into the file first, then into the database."""
    key = signing_key(settings.CHECKPOINT_KEY_FILE)
    outcomes: list[Signing] = []
    try:
        sweep(lambda account_id: outcomes.extend(_signings_due(account_id)))
    finally:  # a chain that could not be read leaves no other unsigned
        _sign(key, outcomes)
    return outcomes


def _sign(key: Ed25519PrivateKey, outcomes: Iterable[Signing]) -> None:
    signed: list[Signed] = []
    for each in outcomes:
        if each.problem:
            log.error("ledger_broken", account=str(each.account_id), seq=each.problem.seq)
            continue
        statement = Statement(
            account=each.account_id,
            seq=each.head.seq,
            commit_hash=each.head.commit_hash,
            created_at=timezone.now(),
        )
        signed.append(sign(key, statement))
    if signed:
        append(settings.CHECKPOINT_FILE, signed)
    for one in signed:
        _copy(one)


def _signings_due(account_id: UUID) -> list[Signing]:
    """Where a chain that moved stands, or what first is wrong in it since the last checkpoint."""
    head = before = _last_signed(account_id)
    if head != BEGINNING and not _is_there(account_id, head):
        gone = Problem(head.seq, "rewritten", "is not the commit that was signed")
        return [Signing(account_id=account_id, head=head, problem=gone)]
    for links in _since(account_id, head):
        problem = next(verify(links, after=head), None)
        if problem:
            return [Signing(account_id=account_id, head=head, problem=problem)]
        head = Head(links[-1][0].seq, links[-1][1])
    return [] if head == before else [Signing(account_id=account_id, head=head)]


def _last_signed(account_id: UUID) -> Head:
    """By the file or by its copies in the database, whichever knows more: either can be lost."""
    with acting(account_id):
        copy = Checkpoint.objects.of(account_id).order_by("-seq").first()
    signed_heads = [last_signed().get(account_id), copy and Head(copy.seq, copy.commit_hash)]
    return max((head for head in signed_heads if head), key=attrgetter("seq"), default=BEGINNING)


def _is_there(account_id: UUID, head: Head) -> bool:
    with acting(account_id):
        rows = Commit.objects.of(account_id).filter(seq=head.seq, commit_hash=head.commit_hash)
        return rows.exists()


def _since(account_id: UUID, head: Head) -> Iterator[list[tuple[Link, str]]]:
    """Yield the commits after a head, one block and transaction at a time."""
    seq = head.seq
    while True:
        with acting(account_id):
            rows = list(Commit.objects.of(account_id).filter(seq__gt=seq).order_by("seq")[:BLOCK])
        if not rows:
            return
        yield [(link_of(row), row.commit_hash) for row in rows]
        seq = rows[-1].seq


def _copy(signed: Signed) -> None:
    statement = signed.statement
    with acting(statement.account):
        Checkpoint.objects.create(
            account_id=statement.account,
            seq=statement.seq,
            commit_hash=statement.commit_hash,
            created_at=statement.created_at,
            signature=signed.signature,
            key_id=signed.key_id,
        )
