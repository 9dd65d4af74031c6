"""A person accepts a chain that is not the signed one, and the account can be written again."""

from uuid import UUID

from django.conf import settings
from django.utils.translation import gettext as _

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import Actor
from kmapp.accounts.models import Account, account_ids
from kmapp.errors import Conflict
from kmapp.ledger.actions import recording
from kmapp.ledger.chain import BEGINNING, Head
from kmapp.ledger.checkpoint_status import behind, last_signed
from kmapp.ledger.signing import Statement, append, next_time, one_signer, sign, signing_key


def accept_loss(account_id: UUID, actor: Actor, *, reason: str) -> Statement:
    """Record that signed commits are given up, and sign the new head in their place.

    Outside any transaction: the head is signed after it is committed. An account that is missing
    altogether has no ledger to record it in; the signed statement remains.
    """
    with one_signer(settings.CHECKPOINT_FILE):
        chain, signed = behind(account_id), last_signed(account_id)
        if chain is None or signed is None:
            raise Conflict(_("The ledger matches its last checkpoint. There is nothing to accept."))
        replaced = signed.head
        head = BEGINNING
        if account_id in account_ids():
            head = _record(account_id, actor, reason, replaced=replaced, ends=chain.ends)
        statement = Statement(
            account=account_id, created_at=next_time(signed), replaces=replaced, **head._asdict()
        )
        key = signing_key(settings.CHECKPOINT_KEY_FILE)
        append(settings.CHECKPOINT_FILE, [sign(key, statement)])
    return statement


def _record(account_id: UUID, actor: Actor, reason: str, *, replaced: Head, ends: int) -> Head:
    facts = {"replaced": replaced._asdict(), "ends": ends}
    with acting(account_id):
        account = Account.objects.get(pk=account_id)
        with recording(account_id, actor, input=facts, reason=reason, accepts_loss=True) as commit:
            commit.add(account, "ACCEPT")
    assert commit.commit is not None  # noqa: S101 - it was written
    return Head(commit.commit.seq, commit.commit.commit_hash)
