"""Texts of company sign-ins that fail."""

from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING

from django.utils.translation import gettext_lazy as _

from kmapp.accounts.company_sign_in.assertions import RefusalReason
from kmapp.web.identity.account_adapter import INACTIVE
from kmapp.web.identity.company_session import OWNER

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise


@dataclass(frozen=True, slots=True)
class RefusalText:
    title: "_StrPromise"
    text: "_StrPromise"  # may contain %(name)s, the company
    status: HTTPStatus = HTTPStatus.FORBIDDEN


_NO_ACCESS = _("You have no access")
TEXTS = {
    RefusalReason.EXPIRED: RefusalText(
        _("This sign-in has expired"),
        _("It took too long, or was started in another window. Start again."),
        HTTPStatus.BAD_REQUEST,
    ),
    RefusalReason.CANCELLED: RefusalText(
        _("Sign-in cancelled"),
        _("%(name)s did not sign you in. Start again, or choose another way."),
        HTTPStatus.BAD_REQUEST,
    ),
    RefusalReason.UNREACHABLE: RefusalText(
        _("The sign-in service does not respond"),
        _("The sign-in service of %(name)s could not be reached. Try again in a minute."),
        HTTPStatus.SERVICE_UNAVAILABLE,
    ),
    RefusalReason.INVALID: RefusalText(
        _("The response was not accepted"),
        _(
            "The sign-in service of %(name)s sent a response that kmapp cannot trust. Start "
            "again. If this happens again, tell an admin."
        ),
        HTTPStatus.BAD_REQUEST,
    ),
    RefusalReason.UNVERIFIED: RefusalText(
        _("Your e-mail address is not verified"),
        _("%(name)s states no verified e-mail address for you. Verify it there, then try again."),
    ),
    RefusalReason.FOREIGN_DOMAIN: RefusalText(
        _NO_ACCESS,
        _("Your e-mail address is not one of %(name)s. Sign in there with another address."),
    ),
    RefusalReason.NO_ROLE: RefusalText(
        _NO_ACCESS,
        _("You are in no group of %(name)s that has access to this account. Ask an admin."),
    ),
    RefusalReason.NO_LOGIN: RefusalText(
        _NO_ACCESS, _("You have no login yet. Ask an admin of this account to invite you.")
    ),
    RefusalReason.NOT_CONNECTED: RefusalText(
        _("Connect your login first"),
        _("Your address has a login of its own. Sign in with it once to connect it with %(name)s."),
    ),
    RefusalReason.OTHER_LOGIN: RefusalText(
        _("Connected with another login"),
        _(
            "A login is connected with one person at %(name)s. Sign out there and continue as "
            "the person who you are here; or ask an admin to disconnect the other login."
        ),
        HTTPStatus.CONFLICT,
    ),
    RefusalReason.OWNER: RefusalText(_NO_ACCESS, OWNER),
    RefusalReason.INACTIVE: RefusalText(_NO_ACCESS, INACTIVE),
}
