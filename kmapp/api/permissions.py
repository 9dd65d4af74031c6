"""Scope permissions. DRF's settings import this, so nothing here imports `rest_framework.views`."""

from collections.abc import Collection, Mapping
from typing import cast

from rest_framework.exceptions import NotAuthenticated
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from kmapp.accounts.authentication import KeyPrincipal
from kmapp.accounts.scopes import Scope
from kmapp.errors import Denied


class HasScope(BasePermission):
    """Require the scope that the view names for the method; deny methods without one.

    One of the view's `other_scopes` suffices too.
    """

    def has_permission(self, request: Request, view: object) -> bool:
        principal = cast("KeyPrincipal | None", request.auth)
        if principal is None:
            raise NotAuthenticated("Send an API key: `Authorization: Bearer km_…`.")
        method = (request.method or "").upper()
        if method not in getattr(view, "allowed_methods", ()):
            return True  # dispatch answers 405
        scopes: Mapping[str, Scope] = getattr(view, "scopes", {})
        needed = scopes.get("GET" if method == "HEAD" else method)
        if needed is None:
            return False
        others: Collection[Scope] = getattr(view, "other_scopes", ())
        if not any(principal.may(each) for each in others):
            require_scope(principal, needed)
        # An operation that accepts an Idempotency-Key writes, whatever its scope.
        writes = not needed.only_reads or getattr(view, "idempotent", False)
        if principal.is_archived and method not in SAFE_METHODS and writes:
            raise Denied("This account is archived and read-only.", code="account_archived")
        return True


def require_scope(principal: KeyPrincipal, needed: Scope) -> None:
    """Raise Denied if the key lacks a scope that the request needs in addition."""
    if not principal.may(needed):
        raise Denied(
            f"This key lacks the scope {needed.value}.",
            code="missing_scope",
            details={"scope": needed.value},
        )
