"""The list of changes that a restore to an earlier time undoes, and that must be repeated."""

from kmapp.accounts.acting import acting
from kmapp.accounts.actions import change_role, remove_member, revoke_key
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.invitations import invite, revoke_invitation
from kmapp.accounts.models import Account, ApiKey, Membership, User
from kmapp.database.ids import uuid7
from kmapp.ledger.actions import recording
from kmapp.ledger.models import Commit
from kmapp.management.changes_undone_by_restore import list_undone_changes, load_restored_state
from tests import makers


def test_changes_after_the_restored_state_are_listed(
    acme: Account, ada: User, alice: User, key: tuple[ApiKey, str]
) -> None:
    makers.member(acme, "carol", role="editor")
    with acting(acme):
        invitation = invite(
            account_id=acme.pk,
            email="noor@example.test",
            role="viewer",
            language="en",
            actor=SYSTEM,
        )
    root = User.objects.create(username="root", is_superuser=True, is_staff=True)
    restored = load_restored_state()
    assert list_undone_changes(restored) == []
    erased = uuid7()
    with acting(acme):
        revoke_key(key[0], actor=SYSTEM)
        revoke_invitation(invitation, actor=SYSTEM)
        members = Membership.objects.of(acme)
        remove_member(members.get(user=alice), actor=SYSTEM)
        change_role(members.get(user__username="carol"), role="viewer", actor=SYSTEM)
        with recording(acme.pk, SYSTEM) as commit:
            commit.erase("memory.memoryentry", erased)
        last = Commit.objects.of(acme).get(pk=commit.id)
    makers.member(acme, "bob", role="viewer")
    User.objects.filter(pk=ada.pk).update(is_active=False)
    User.objects.filter(pk=root.pk).update(is_superuser=False)
    assert set(list_undone_changes(restored)) == {
        f"acme: API key test key (km_{key[0].prefix}_…): in use again, was revoked",
        "acme: invitation of noor@example.test: open again, was revoked",
        "acme: member alice: editor again, was removed",
        "acme: member carol: editor again, was viewer",
        "acme: member bob: missing, was viewer",
        "user bob: missing, was active",
        "user ada: active again, was deactivated",
        "user root: active (superuser, staff) again, was active (staff)",
        f"acme: memory.memoryentry back, was erased in commit {last.seq}, "
        f"{last.created_at:%Y-%m-%d %H:%M:%S} UTC: {erased}",
    }
