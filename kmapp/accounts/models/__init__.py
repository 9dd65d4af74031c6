"""Accounts, users, memberships and API keys."""

from kmapp.accounts.models.accounts import (
    Account,
    AccountOwned,
    AccountQuerySet,
    M,
    Redaction,
    SameAccountKey,
    SealedModel,
    account_ids,
    all_redaction_kinds,
    is_sealed,
    sealed_columns,
)
from kmapp.accounts.models.keys import ApiKey
from kmapp.accounts.models.people import (
    AccountAccess,
    Invitation,
    Membership,
    PersonOwned,
    User,
    list_account_access,
)

__all__ = [
    "Account",
    "AccountAccess",
    "AccountOwned",
    "AccountQuerySet",
    "ApiKey",
    "Invitation",
    "M",
    "Membership",
    "PersonOwned",
    "Redaction",
    "SameAccountKey",
    "SealedModel",
    "User",
    "account_ids",
    "all_redaction_kinds",
    "is_sealed",
    "list_account_access",
    "sealed_columns",
]
