"""Rights of a session that was started, or confirmed, at the identity provider of an account.

A session that was started there opens that account only. It has no rights in the installation, and
cannot change how the person signs in elsewhere. Otherwise an account's provider could take over a
login.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Self
from uuid import UUID

from django.contrib.sessions.backends.base import SessionBase
from django.utils import timezone
from django.utils.translation import gettext_lazy

from kmapp.accounts.company_sign_in.models import CompanySignIn
from kmapp.accounts.models import AccountAccess, User
from kmapp.errors import Denied
from kmapp.web.models import Session
from kmapp.web.sessions import SessionStore

COMPANY = "company"  # session key
OWNER = gettext_lazy("The owner of this installation signs in with a password or a passkey.")


@dataclass(frozen=True, slots=True, kw_only=True)
class CompanySession:
    """The provider's part in a session."""

    account_id: UUID
    without_own_login: bool  # the person signed in only through the provider
    checks_second_factor: bool

    @classmethod
    def of(cls, sign_in: CompanySignIn, *, without_own_login: bool) -> Self:
        return cls(
            account_id=sign_in.account_id,
            without_own_login=without_own_login,
            checks_second_factor=sign_in.checks_second_factor,
        )

    def dump(self) -> dict[str, Any]:
        return {
            "account": str(self.account_id),
            "only": self.without_own_login,
            "factor": self.checks_second_factor,
        }

    def select(self, user: User, accesses: Sequence[AccountAccess]) -> list[AccountAccess]:
        """Return those of the person's accounts that the session may open."""
        if not self.without_own_login:
            return list(accesses)
        if user.manages_installation:
            raise Denied(str(OWNER))
        return [access for access in accesses if access.account_id == self.account_id]

    def may_change_login(self, user: User, accesses: Sequence[AccountAccess]) -> bool:
        """Return whether the session may change how the person signs in.

        It may if the person signed in with their own login, or if the account alone manages the
        login.
        """
        is_managed = {access.account_id for access in accesses} == {self.account_id}
        return not self.without_own_login or (user.has_initial_password and is_managed)


def store_company_session(session: SessionBase, user: User, company: dict[str, Any] | None) -> None:
    """Store the company part of a sign-in in the session, or remove that of an earlier one."""
    if company is None:
        session.pop(COMPANY, None)
    else:
        session[COMPANY] = {**company, "user": str(user.pk)}


def find_company_session(session: SessionBase, user: Any) -> CompanySession | None:
    stored = session.get(COMPANY)
    if stored is None or stored["user"] != str(user.pk):
        return None
    return CompanySession(
        account_id=UUID(stored["account"]),
        without_own_login=stored["only"],
        checks_second_factor=stored["factor"],
    )


def end_company_sessions(
    account_id: UUID, users: Collection[UUID], *, except_key: str | None = None
) -> None:
    """End the sessions that these people began, or confirmed, at the provider of an account."""
    keys = []
    for row in Session.objects.filter(user__in=users, expire_date__gt=timezone.now()):
        company = SessionStore().decode(row.session_data).get(COMPANY, {})
        if company.get("account") == str(account_id):
            keys.append(row.session_key)
    Session.objects.filter(session_key__in=keys).exclude(session_key=except_key).delete()
