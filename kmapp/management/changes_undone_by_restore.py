"""Changes that a restore to an earlier time undoes, for the person who has to repeat them.

After a restore, a revoked key works again, a removed member is back, and erased rows are too. Both
states are databases of the same server, which runs with one of them at a time.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from uuid import UUID

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account, ApiKey, Invitation, Membership, User
from kmapp.database.raw_sql import fetch_all
from kmapp.ledger.chain import Head
from kmapp.ledger.chain_deviations import load_heads
from kmapp.management.account_lookup import list_all_accounts

REMOVED = "removed"
ERASED_SQL = """
SELECT seq, created_at, split_part(change->>'object', ':', 1) AS object_type,
       string_agg(split_part(change->>'object', ':', 2), ' ' ORDER BY change->>'object')
FROM ledger_commit, jsonb_array_elements(diff) AS change
WHERE account_id = %s AND seq > %s AND change->>'op' = 'ERASE'
GROUP BY seq, created_at, object_type ORDER BY seq, object_type
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoredState:
    heads: Mapping[UUID, Head]
    access: dict[str, str]  # the state of each user, member, key and invitation


def load_restored_state() -> RestoredState:
    return RestoredState(heads=load_heads(), access=_load_access())


def list_undone_changes(restored: RestoredState) -> list[str]:
    """Return a line for each difference between `restored` and the connected, newer database."""
    newer, older = _load_access(), restored.access
    changed = [subject for subject in older | newer if older.get(subject) != newer.get(subject)]
    lines = [_describe(subject, older.get(subject), newer.get(subject)) for subject in changed]
    return [*lines, *_list_erasures(restored.heads)]


def _describe(subject: str, restored: str | None, newer: str | None) -> str:
    if restored is None:
        return f"{subject}: missing, was {newer}"
    return f"{subject}: {restored} again, was {newer or REMOVED}"


def _load_access() -> dict[str, str]:
    access = {f"user {user.username}": _describe_user(user) for user in User.objects.all()}
    for account in list_all_accounts():
        with acting(account):
            states = dict(_list_states(account))
        access |= {f"{account.slug}: {subject}": state for subject, state in states.items()}
    return access


def _describe_user(user: User) -> str:
    rights = ["superuser"] * user.is_superuser + ["staff"] * user.is_staff
    state = "active" if user.is_active else "deactivated"
    return f"{state} ({', '.join(rights)})" if rights else state


def _list_states(account: Account) -> Iterator[tuple[str, str]]:
    yield "account", "archived" if account.archived_at else "in use"
    for member in Membership.objects.of(account).select_related("user"):
        yield f"member {member.user.username}", member.role
    for key in ApiKey.objects.of(account):
        label = f"API key {key.name} (km_{key.prefix}_…)"
        yield label, "revoked" if key.revoked_at else "in use"
    # A later invitation of the same address replaces an earlier one.
    for invitation in Invitation.objects.of(account).order_by("created_at"):
        yield f"invitation of {invitation.email}", _describe_invitation(invitation)


def _describe_invitation(invitation: Invitation) -> str:
    if invitation.accepted_at:
        return "accepted"
    return "revoked" if invitation.revoked_at else "open"


def _list_erasures(heads: Mapping[UUID, Head]) -> Iterator[str]:
    """Yield what commits after the heads erased, except members, which `_load_access` has."""
    for account in list_all_accounts():
        if account.pk not in heads:
            continue
        with acting(account):
            rows = fetch_all(ERASED_SQL, [account.pk, heads[account.pk].seq])
        for seq, created_at, object_type, ids in rows:
            if object_type != Membership._meta.label_lower:
                erased = f"erased in commit {seq}, {created_at:%Y-%m-%d %H:%M:%S} UTC"
                yield f"{account.slug}: {object_type} back, was {erased}: {ids}"
