"""What an identity provider states about a person, and why a sign-in can fail. Pure."""

from dataclasses import dataclass
from enum import StrEnum


class RefusalReason(StrEnum):
    """Why nobody is signed in. `kmapp.web.identity.company_errors` has the texts."""

    EXPIRED = "expired"  # the browser comes back without the sign-in that it started
    CANCELLED = "cancelled"
    UNREACHABLE = "unreachable"
    INVALID = "invalid"  # the response is not the provider's, or not for this sign-in
    UNVERIFIED = "unverified"
    FOREIGN_DOMAIN = "foreign_domain"
    NO_ROLE = "no_role"
    NO_LOGIN = "no_login"
    NOT_CONNECTED = "not_connected"  # the login is also used elsewhere
    OTHER_LOGIN = "other_login"  # the identity belongs to another login
    OWNER = "owner"  # the login has rights in the whole installation
    INACTIVE = "inactive"


class SignInRefused(Exception):
    """The sign-in is refused, because of the provider or of what it states."""

    def __init__(self, reason: RefusalReason, detail: str = "") -> None:
        super().__init__(detail or reason.value)
        self.reason = reason
        self.detail = detail  # for the log: no personal data


@dataclass(frozen=True, slots=True, kw_only=True)
class Assertion:
    """The statements of a response that was verified."""

    subject: str
    email: str
    is_verified: bool
    name: str
    groups: frozenset[str]
