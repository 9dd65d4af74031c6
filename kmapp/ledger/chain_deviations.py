"""Comparison of chains with their last signed heads.

A database restored to an earlier day is consistent in itself; only the signed file shows that
commits are missing. Every start, the health check and the pages compare both and trust the file.
Without the file, nothing can be compared, so it is a deviation that the file has no checkpoint of
a chain of which the database has one. `manage.py fsck` also checks the signatures.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

import structlog
from django.conf import settings
from django.utils.translation import gettext as _

from kmapp.accounts.acting import acting
from kmapp.database.raw_sql import fetch_all
from kmapp.errors import ReadOnly, Unavailable
from kmapp.ledger.chain import EMPTY_CHAIN_HEAD, Head
from kmapp.ledger.checkpoint_file import get_checkpoint_file
from kmapp.ledger.many_chains import list_chains_with, load_copied_heads
from kmapp.ledger.models import Checkpoint, Commit
from kmapp.ledger.signing import Statement

log = structlog.get_logger()
MAX_UNSIGNED_TIME = timedelta(minutes=1)  # beat signs commits within seconds
RETRY_AFTER_SECONDS = 60  # seconds for clients of a read-only account, which waits for a person


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainDeviation:
    """An account whose chain is not the one that was signed. It is read-only."""

    account_id: UUID
    signed_seq: int  # the number of the last signed commit
    last_seq: int  # the number of the last commit in the database
    missing_in_file: bool = False  # only the copy in the database shows what was signed

    def __str__(self) -> str:
        if self.missing_in_file:
            return f"was signed at commit {self.signed_seq}, but CHECKPOINT_FILE does not have it"
        if self.last_seq < self.signed_seq:
            return f"ends at commit {self.last_seq}, but commit {self.signed_seq} was signed"
        return f"has a commit {self.signed_seq} that differs from the signed one"

    @property
    def explanation(self) -> str:
        """What happened and what to do, for operators and agents."""
        numbers = {"signed": self.signed_seq, "ends": self.last_seq}
        remedy = _(
            "The account is read-only until the newest copy is back, or an admin accepts this "
            "state on the page Ledger (or with %(command)s accept_ledger)."
        )
        return f"{self._cause % numbers} {remedy % {'command': settings.COMMAND}}"

    @property
    def _cause(self) -> str:
        if self.missing_in_file:
            return _(
                "Commit %(signed)s of the ledger was signed, but CHECKPOINT_FILE is missing or "
                "does not have this checkpoint. An older copy of the database cannot be recognized."
            )
        if self.last_seq < self.signed_seq:
            return _(
                "The ledger ends at commit %(ends)s, but commit %(signed)s was signed. An older "
                "copy of the database was put back, or commits were deleted."
            )
        return _(
            "Commit %(signed)s of the ledger differs from the signed one. The ledger was "
            "rewritten, or an older copy of the database was put back and then changed."
        )

    def error(self) -> ReadOnly:
        facts = {"signed": self.signed_seq, "ends": self.last_seq}
        return ReadOnly(self.explanation, retry_after=RETRY_AFTER_SECONDS, details=facts)


def find_deviation(account_id: UUID) -> ChainDeviation | None:
    """Return how a chain deviates from its last signed head, or None. One query if it does not."""
    signed_in_file = find_last_signed(account_id)
    if signed_in_file and signed_in_file.head == EMPTY_CHAIN_HEAD:
        return None  # the loss of the whole account was accepted
    with acting(account_id):
        if signed_in_file is None:
            if not Checkpoint.objects.of(account_id).exists():
                return None
            # A copy is stored after its line, perhaps since the file was read.
            signed_in_file = find_last_signed(account_id)
        if signed_in_file and Commit.objects.of(account_id).at(signed_in_file.head).exists():
            return None
        return describe_deviation(account_id, signed_in_file)


def describe_deviation(account_id: UUID, signed_in_file: Statement | None) -> ChainDeviation:
    """Describe a chain that is known to deviate from its last signed head. Inside `acting`."""
    signed = signed_in_file or Checkpoint.objects.of(account_id).order_by("-seq").first()
    return ChainDeviation(
        account_id=account_id,
        signed_seq=signed.seq if signed else 0,
        last_seq=Commit.objects.of(account_id).last_seq(),
        missing_in_file=signed_in_file is None,
    )


def list_deviations(*, besides: UUID | None = None) -> list[ChainDeviation]:
    """Return the deviations of all accounts, including accounts that are missing altogether.

    Leave out the account `besides`, which the caller has checked. At most three queries, however
    many accounts deviate.
    """
    signed, heads = get_checkpoint_file().all(), load_heads()
    moved = {
        account_id: each.statement.head
        for account_id, each in signed.items()
        if each.statement.head != heads.get(account_id)
        and each.statement.head != EMPTY_CHAIN_HEAD  # otherwise the loss was accepted
    }
    deviating = {each: moved[each] for each in moved.keys() - list_chains_with(moved)}
    copied = load_copied_heads(heads.keys() - signed.keys())
    # A copy is stored after its line, perhaps since the file was read.
    added = get_checkpoint_file().all() if copied else {}
    missing = {each: head for each, head in copied.items() if each not in added}
    return [
        ChainDeviation(
            account_id=account_id,
            signed_seq=head.seq,
            last_seq=heads.get(account_id, EMPTY_CHAIN_HEAD).seq,
            missing_in_file=account_id in missing,
        )
        for account_id, head in sorted({**deviating, **missing}.items())
        if account_id != besides
    ]


def load_heads() -> dict[UUID, Head]:
    """Return the last commit of each account that has one, in one query."""
    rows = fetch_all("SELECT account_id, seq, commit_hash FROM ledger_heads()")
    return {account_id: Head(*head) for account_id, *head in rows}


def find_last_signed(account_id: UUID) -> Statement | None:
    """Return the last signed head of an account, from the configured file.

    Raise ReadOnly if the file cannot be read, for example while a network folder is unavailable.
    Jobs then wait.
    """
    try:
        signed = get_checkpoint_file().get(account_id)
    except OSError as error:
        log.warning("checkpoints_unreadable", error=type(error).__name__)
        message = _("The checkpoints cannot be read, so nothing can be written. Try again later.")
        raise ReadOnly(message, retry_after=RETRY_AFTER_SECONDS, code=Unavailable.code) from error
    return signed.statement if signed else None


def find_newest_checkpoint(account_id: UUID) -> Statement | Checkpoint | None:
    """Return the last signed head, or its copy in the database if the file was lost.

    Inside `acting`.
    """
    copies = Checkpoint.objects.of(account_id).order_by("-seq")
    return find_last_signed(account_id) or copies.first()


def find_unsigned_since(account_id: UUID) -> datetime | None:
    """Return the time of the first commit after the last signed one."""
    signed = find_last_signed(account_id)
    with acting(account_id):
        later = Commit.objects.of(account_id).filter(seq=signed.seq + 1 if signed else 1)
        return later.values_list("created_at", flat=True).first()
