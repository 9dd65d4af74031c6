"""Acceptance of a chain that is not the signed one, after which the account is writable again."""

from uuid import UUID

from django.conf import settings
from django.utils.translation import gettext as _

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import Actor
from kmapp.accounts.models import Account, account_ids
from kmapp.accounts.pii_redaction import redact_text
from kmapp.errors import Conflict
from kmapp.ledger.actions import recording
from kmapp.ledger.chain import EMPTY_CHAIN_HEAD, Head
from kmapp.ledger.chain_deviations import find_deviation, find_newest_checkpoint
from kmapp.ledger.signing import (
    Statement,
    append_statements,
    compute_next_time,
    load_signing_key,
    lock_for_signing,
    sign_statement,
)


def accept_loss(account_id: UUID, actor: Actor, *, reason: str) -> Statement:
    """Record the loss of signed commits or of their checkpoints, and sign the present head instead.

    Outside any transaction: the head is signed after it is committed. If the whole account is
    missing, it has no ledger, and only the signed statement records the loss.
    """
    with lock_for_signing(settings.CHECKPOINT_FILE):
        deviation = find_deviation(account_id)
        with acting(account_id):
            signed = find_newest_checkpoint(account_id)
        if deviation is None or signed is None:
            raise Conflict(_("The ledger matches its last checkpoint. There is nothing to accept."))
        replaced = Head(signed.seq, signed.commit_hash)
        head = EMPTY_CHAIN_HEAD
        if account_id in account_ids():
            head = _record_loss(
                account_id, actor, reason, replaced=replaced, last_seq=deviation.last_seq
            )
        statement = Statement(
            account=account_id,
            created_at=compute_next_time(signed.created_at),
            replaces=replaced,
            **head._asdict(),
        )
        key = load_signing_key(settings.CHECKPOINT_KEY_FILE)
        append_statements(settings.CHECKPOINT_FILE, [sign_statement(key, statement)])
    return statement


def _record_loss(
    account_id: UUID, actor: Actor, reason: str, *, replaced: Head, last_seq: int
) -> Head:
    facts = {"replaced": replaced._asdict(), "ends": last_seq}
    with acting(account_id):
        account = Account.objects.get(pk=account_id)
        reason = redact_text(reason, account.redact)
        with recording(account_id, actor, input=facts, reason=reason, accepts_loss=True) as commit:
            commit.add(account, "ACCEPT")
    assert commit.commit is not None  # noqa: S101 - it was written
    return Head(commit.commit.seq, commit.commit.commit_hash)
