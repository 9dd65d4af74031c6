"""Checkpoints of other installations that are stored and countersigned here."""

from collections.abc import Sequence
from uuid import UUID

from django.conf import settings
from django.utils.translation import gettext as _

from kmapp.errors import Conflict
from kmapp.ledger.checkpoint_file import CheckpointFile, get_shared_file
from kmapp.ledger.signing import (
    Signed,
    append_statements,
    countersign_statement,
    load_signing_key,
    lock_for_signing,
)

MAX_ACCOUNTS = 10_000  # accounts of other installations in one file


def load_peer_file(account_id: UUID) -> CheckpointFile:
    """Return the file with the statements that keys of this account sent."""
    return get_shared_file(settings.CHECKPOINT_FILE.parent / "peers" / f"{account_id}.ndjson")


def countersign(account_id: UUID, statements: Sequence[Signed]) -> list[Signed]:
    """Store statements, and return them countersigned. A repeated statement is stored once.

    The file stores the lines as the other installation signed them, because only these can replace
    lines that it loses. A countersignature is never valid as a checkpoint of this installation.

    A statement that goes back, or differs at the same number, must name what it replaces. A refused
    one does not keep the others from being stored.
    """
    file, refused = load_peer_file(account_id), None
    with lock_for_signing(file.path):
        stored = dict(file.all())
        new = []
        for each in statements:
            before = stored.get(each.statement.account)
            if before == each:
                continue
            try:
                _require_space(before, len(stored))
                _require_progress(each, before)
            except Conflict as error:  # the other accounts are stored nevertheless
                refused = refused or error
                continue
            stored[each.statement.account] = each
            new.append(each)
        if new:
            append_statements(file.path, new)
            file.rotate_if_long()
    if refused:
        raise refused
    key = load_signing_key(settings.CHECKPOINT_KEY_FILE)
    return [countersign_statement(key, each.statement) for each in statements]


def _require_space(before: Signed | None, stored: int) -> None:
    if before is None and stored >= MAX_ACCOUNTS:
        message = _(
            "This account stores checkpoints of the maximum number of accounts. Send further"
            " ones with a key of another account."
        )
        raise Conflict(message, details={"most_accounts": MAX_ACCOUNTS})


def _require_progress(signed: Signed, before: Signed | None) -> None:
    new = signed.statement
    if before is None or new.replaces or new.seq > before.statement.seq:
        return
    if new.head != before.statement.head:
        message = _(
            "A later or different checkpoint of this account is stored here. Compare the database "
            "with it before you continue."
        )
        raise Conflict(message, details={"account": str(new.account), "newest": before.record()})
