"""Signing of heads that moved, into a file outside the database.

A chain is signed only if it continues the last signed head without a problem.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

import structlog
from django.conf import settings
from django.db import Error, transaction

from kmapp.accounts.acting import acting
from kmapp.accounts.for_each_account import run_for_each_account
from kmapp.accounts.models import account_ids
from kmapp.ledger.chain import EMPTY_CHAIN_HEAD, ChainProblem, Head, verify_links
from kmapp.ledger.chain_deviations import find_last_signed, find_newest_checkpoint, load_heads
from kmapp.ledger.checkpoint_file import get_checkpoint_file
from kmapp.ledger.many_chains import (
    MAX_CHAINS,
    MAX_COMMITS_TOGETHER,
    load_commits,
    load_copied_heads,
)
from kmapp.ledger.models import Checkpoint, Commit
from kmapp.ledger.signing import (
    Statement,
    append_statements,
    compute_next_time,
    load_signing_key,
    lock_for_signing,
    sign_statement,
)
from kmapp.ledger.verify import stream_commit_blocks

MAX_COMMITS = 10_000  # of one chain in one round of signing, so that others do not wait for it

log = structlog.get_logger()

ProblemObserver = Callable[[UUID, ChainProblem], None]
_problem_observers: list[ProblemObserver] = []


def register_problem_observer(observer: ProblemObserver) -> ProblemObserver:
    """Call this function with the account and the problem of a chain that cannot be signed."""
    _problem_observers.append(observer)
    return observer


def report_problem(account_id: UUID, problem: ChainProblem) -> None:
    for observer in _problem_observers:
        observer(account_id, problem)


@dataclass(frozen=True, slots=True, kw_only=True)
class SigningResult:
    """A head to sign; with a problem, nothing is signed."""

    account_id: UUID
    head: Head
    problem: ChainProblem | None = None


def sign_all_heads() -> list[SigningResult]:
    """Sign every head that moved into the file, and copy the last statements to the database."""
    outcomes: list[SigningResult] = []
    try:
        outcomes = _sign_heads(account_ids(), limit=float("inf"))
        for each in outcomes:
            if each.problem:
                log.error("ledger_broken", account=str(each.account_id), seq=each.problem.seq)
                report_problem(each.account_id, each.problem)
    finally:  # heads of other chains are signed even if one chain could not be read
        run_for_each_account(_copy_to_database)
    return outcomes


def sign_moved_heads() -> list[SigningResult]:
    """Sign the heads that moved since the last statement in the file. One query if none did."""
    # The file is read before the heads. Otherwise, an account that is created and signed in between
    # would be reported as missing.
    signed = {
        account_id: each.statement for account_id, each in get_checkpoint_file().all().items()
    }
    heads = load_heads()
    moved = [each for each in heads if each not in signed or heads[each] != signed[each].head]
    outcomes = _sign_heads(moved, limit=MAX_COMMITS) if moved else []
    return outcomes + [
        SigningResult(
            account_id=account_id,
            head=signed[account_id].head,
            problem=ChainProblem(signed[account_id].seq, "account", "belongs to a missing account"),
        )
        for account_id in signed.keys() - heads.keys()
        if signed[account_id].head != EMPTY_CHAIN_HEAD  # otherwise the loss was accepted
    ]


def find_problem(account_id: UUID) -> ChainProblem | None:
    """Return why an account's chain cannot be signed, or None."""
    due = _find_unsigned_head(account_id, limit=MAX_COMMITS)
    return due[0].problem if due else None


def _sign_heads(accounts: Sequence[UUID], *, limit: float) -> list[SigningResult]:
    """Sign the heads of accounts with at most `limit` new commits of each."""
    key = load_signing_key(settings.CHECKPOINT_KEY_FILE)
    outcomes: list[SigningResult] = []
    with lock_for_signing(settings.CHECKPOINT_FILE):
        try:
            others = _find_unsigned_heads(accounts, outcomes)
            run_for_each_account(
                lambda each: outcomes.extend(_find_unsigned_head(each, limit)), others
            )
        finally:
            statements = [
                Statement(
                    account=each.account_id,
                    created_at=compute_next_time(signed.created_at if signed else None),
                    **each.head._asdict(),
                )
                for each in outcomes
                if not each.problem
                for signed in [find_last_signed(each.account_id)]
            ]
            if statements:
                append_statements(
                    settings.CHECKPOINT_FILE, [sign_statement(key, each) for each in statements]
                )
                get_checkpoint_file().rotate_if_long()
    return outcomes


def _copy_to_database(account_id: UUID) -> None:
    """Store the last statement of an account in the database, if its chain has this head."""
    signed = get_checkpoint_file().get(account_id)
    if signed is None or signed.statement.replaces:  # the table has no such column
        return
    head, created_at = signed.statement.head, signed.statement.created_at
    with acting(account_id):
        in_chain = Commit.objects.of(account_id).at(head).exists()
        copies = Checkpoint.objects.of(account_id).filter(**head._asdict(), created_at=created_at)
        if in_chain and not copies.exists():
            Checkpoint.objects.create(
                account_id=account_id,
                created_at=created_at,
                signature=signed.signature,
                key_id=signed.key_id,
                **head._asdict(),
            )


def _find_unsigned_heads(accounts: Sequence[UUID], outcomes: list[SigningResult]) -> Sequence[UUID]:
    """Add what `_find_unsigned_head` returns to `outcomes`, with one query for MAX_CHAINS accounts.

    Return the accounts to read one by one: those with many or large new commits, and those of a
    query that failed, so that a chain that cannot be read does not keep others from being signed.
    """
    signed = {
        account_id: each.statement.head for account_id, each in get_checkpoint_file().all().items()
    }
    try:
        with transaction.atomic():
            copies = load_copied_heads([each for each in accounts if each not in signed])
    except Error as error:
        log.warning("chains_read_one_by_one", error=type(error).__name__)
        return accounts
    outcomes += [_describe_missing_line(each, head) for each, head in copies.items()]
    before = {each: signed.get(each, EMPTY_CHAIN_HEAD) for each in accounts if each not in copies}
    comparable, others = list(before), list[UUID]()
    for start in range(0, len(comparable), MAX_CHAINS):
        part = {each: before[each] for each in comparable[start : start + MAX_CHAINS]}
        try:
            results, incomplete = _find_heads_together(part)
        except (Error, ValueError, RecursionError) as error:  # of the database, or of a JSON value
            log.warning("chains_read_one_by_one", error=type(error).__name__)
            results, incomplete = [], [*part]
        outcomes += results
        others += incomplete
    return others


def _find_heads_together(
    signed: Mapping[UUID, Head],
) -> tuple[list[SigningResult], list[UUID]]:
    """Return the results of accounts with these signed heads, and the accounts not read to the end.

    One query.
    """
    with transaction.atomic():
        chains = load_commits({each: head.seq for each, head in signed.items()})
    results, incomplete = list[SigningResult](), list[UUID]()
    for account_id, head in signed.items():
        rows = chains.get(account_id, [])
        new = [row for row in rows if row.seq > head.seq]
        is_in_chain = any(Head(row.seq, row.commit_hash) == head for row in rows)
        if head != EMPTY_CHAIN_HEAD and not is_in_chain:
            results.append(_describe_rewriting(account_id, head))
        elif len(rows) == MAX_COMMITS_TOGETHER or any(row.diff is None for row in new):
            incomplete.append(account_id)
        elif new:
            results.append(_follow_chain(account_id, head, new))
    return results, incomplete


def _find_unsigned_head(account_id: UUID, limit: float) -> list[SigningResult]:
    """Return the head of a chain that moved, or the first problem since the last checkpoint."""
    with acting(account_id):
        signed = find_newest_checkpoint(account_id)
        before = head = Head(signed.seq, signed.commit_hash) if signed else EMPTY_CHAIN_HEAD
        if isinstance(signed, Checkpoint):
            return [_describe_missing_line(account_id, head)]
        if head != EMPTY_CHAIN_HEAD and not Commit.objects.of(account_id).at(head).exists():
            return [_describe_rewriting(account_id, head)]
    for rows in stream_commit_blocks(account_id, head.seq, limit=limit):
        result = _follow_chain(account_id, head, rows)
        if result.problem:
            return [result]
        head = result.head
    return [] if head == before else [SigningResult(account_id=account_id, head=head)]


def _follow_chain(account_id: UUID, head: Head, rows: Sequence[Commit]) -> SigningResult:
    """Return the head after these commits, or the first problem of one that follows `head`."""
    links = ((row.link(), row.commit_hash) for row in rows)
    if problem := next(verify_links(links, after=head), None):
        return SigningResult(account_id=account_id, head=head, problem=problem)
    return SigningResult(account_id=account_id, head=Head(rows[-1].seq, rows[-1].commit_hash))


def _describe_missing_line(account_id: UUID, copy: Head) -> SigningResult:
    problem = ChainProblem(copy.seq, "checkpoint", "was signed, but not in this file")
    return SigningResult(account_id=account_id, head=copy, problem=problem)


def _describe_rewriting(account_id: UUID, signed: Head) -> SigningResult:
    problem = ChainProblem(signed.seq, "rewritten", "is not the commit that was signed")
    return SigningResult(account_id=account_id, head=signed, problem=problem)
