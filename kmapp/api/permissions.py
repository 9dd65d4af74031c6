"""Scope permissions. DRF's settings import this, so nothing here imports `rest_framework.views`."""

from collections.abc import Mapping
from typing import cast

from rest_framework.exceptions import NotAuthenticated
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from kmapp.accounts.authentication import KeyPrincipal
from kmapp.accounts.scopes import Scope
from kmapp.errors import Denied


class HasScope(BasePermission):
    """The view names the scope that each of its methods needs. Silence denies."""

    def has_permission(self, request: Request, view: object) -> bool:
        """Allow, or raise a refusal that says which scope is missing."""
        principal = cast("KeyPrincipal | None", request.auth)
        if principal is None:
            raise NotAuthenticated("Send an API key: `Authorization: Bearer km_…`.")
        method = (request.method or "").upper()
        if method not in getattr(view, "allowed_methods", ()):
            return True  # and on to its 405
        scopes: Mapping[str, Scope] = getattr(view, "scopes", {})
        needed = scopes.get("GET" if method == "HEAD" else method)
        if needed is None:
            return False
        demand(principal, needed)
        return True


def demand(principal: KeyPrincipal, needed: Scope) -> None:
    """Refuse a key without a scope that what it says needs besides."""
    if not principal.may(needed):
        raise Denied(
            f"This key lacks the scope {needed.value}.",
            code="missing_scope",
            details={"scope": needed.value},
        )
