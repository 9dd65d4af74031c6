"""Setting up the company sign-in of an account. Each action is one commit in the ledger."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

from kmapp.accounts.actions import lock_members, remove_member
from kmapp.accounts.actors import Actor
from kmapp.accounts.company_sign_in.models import CompanyIdentity, CompanySignIn
from kmapp.accounts.models import Membership, User
from kmapp.database.encryption import encrypt_text
from kmapp.database.unique_violations import refuse_duplicate
from kmapp.errors import Conflict
from kmapp.ledger.actions import Recording, recording

# If one of these changes, the provider is another one, whose subjects are other people. A new
# certificate alone does not change the provider.
PROVIDER_FIELDS = ("issuer", "client_id", "sign_in_url")


def find_company_sign_in(account_id: UUID) -> CompanySignIn | None:
    return CompanySignIn.objects.of(account_id).first()


def save_company_sign_in(
    account_id: UUID,
    values: Mapping[str, Any],
    *,
    client_secret: str = "",
    actor: Actor,
    commit_id: UUID | None = None,
) -> CompanySignIn:
    """Create or change the company sign-in.

    Without `client_secret`, the stored secret is kept unless the issuer changes. With another
    provider, everyone's login is disconnected, because its subjects are other people. With
    `commit_id`, raise Conflict if a later commit has changed it.
    """
    row = CompanySignIn.objects.of(account_id).select_for_update().first()
    is_new = row is None
    if row is None:
        row = CompanySignIn(account_id=account_id, created_at=timezone.now())
    before = {name: None if is_new else getattr(row, name) for name in values}
    changes = {
        name: {"before": before[name], "after": value}
        for name, value in values.items()
        if before[name] != value
    }
    if not changes and not client_secret:
        return row
    conflict = _(
        "Someone else changed this while you were editing. Nothing was saved, and your input is "
        "still here. Open this page in another tab to compare, or save again to replace their "
        "changes."
    )
    if commit_id and row.commit_id != commit_id:
        raise Conflict(conflict, code="stale_version")
    for name, value in values.items():
        setattr(row, name, value)
    if "issuer" in changes or row.uses_saml:
        row.client_secret = ""
    if client_secret:
        row.client_secret = encrypt_text(client_secret)
    row.updated_at = timezone.now()
    summary = {"company_sign_in": changes}
    with recording(account_id, actor, input=summary) as commit, refuse_duplicate(conflict):
        if not is_new and any(name in changes for name in PROVIDER_FIELDS):
            _disconnect_all(row, commit)
        row.commit_id = commit.id
        row.save(force_insert=is_new)
        commit.add(row, "ADD" if is_new else "UPDATE")
    return row


def delete_company_sign_in(account_id: UUID, *, actor: Actor) -> None:
    """Delete the company sign-in. Members stay members, and sign in with their own logins."""
    row = CompanySignIn.objects.of(account_id).select_for_update().first()
    if row is None:
        raise Conflict(_("Company sign-in is already deleted."))
    with recording(account_id, actor) as commit:
        _disconnect_all(row, commit)
        commit.delete(row)


def disconnect(account_id: UUID, user: User, *, actor: Actor) -> None:
    """Disconnect a login from its identity at the provider."""
    rows = CompanyIdentity.objects.of(account_id).filter(user=user)
    with recording(account_id, actor) as commit:
        _erase_identities(list(rows.select_for_update()), commit)


def remove_and_disconnect(member: Membership, *, actor: Actor) -> None:
    """Remove a member whom a person removes, and disconnect their login.

    Otherwise the provider would add them again. All rows are locked before the ledger, in the same
    order as in a sign-in.
    """
    lock_members(member.account_id, Q(pk=member.pk))
    rows = CompanyIdentity.objects.of(member.account_id).filter(user=member.user_id)
    identities = list(rows.select_for_update())
    remove_member(member, actor=actor)
    with recording(member.account_id, actor) as commit:
        _erase_identities(identities, commit)


def _disconnect_all(sign_in: CompanySignIn, commit: Recording) -> None:
    rows = CompanyIdentity.objects.of(sign_in.account_id).filter(sign_in=sign_in).order_by("pk")
    _erase_identities(list(rows.select_for_update()), commit)


def _erase_identities(identities: list[CompanyIdentity], commit: Recording) -> None:
    for identity in identities:
        commit.delete(identity)
