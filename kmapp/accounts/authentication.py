"""Authentication by API key, in any of the headers that agent clients send."""

import hashlib
import hmac
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.db import connection
from django.utils import timezone
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from kmapp.accounts.actions import record_key_use
from kmapp.accounts.actors import Actor
from kmapp.accounts.scopes import Scope

KEY_FORMAT = re.compile(r"km_([A-Za-z0-9]{8,16})_[A-Za-z0-9_-]{16,128}")
SCHEMES = ("bearer", "token", "api-key")
LAST_USED_INTERVAL = timedelta(minutes=1)  # a statistic, not worth a write for each request


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyPrincipal:
    key_id: UUID
    account_id: UUID
    account_slug: str
    name: str
    scopes: frozenset[str]
    is_archived: bool  # the account is read-only

    @property
    def actor(self) -> Actor:
        return Actor("key", self.key_id)

    @property
    def is_strict(self) -> bool:
        return Scope.STRICT.value in self.scopes

    def may(self, scope: Scope) -> bool:
        return scope.value in self.scopes or Scope.ADMIN.value in self.scopes


class AgentRequest(Request):
    """A request authenticated by `KeyAuthentication`."""

    auth: KeyPrincipal


class KeyAuthentication(BaseAuthentication):
    """`Authorization: Bearer k`, `Token k` or `Api-Key k`, or `X-Api-Key: k`. No cookies."""

    def authenticate(self, request: Request) -> tuple[None, KeyPrincipal] | None:
        key = next(parse_keys(request.headers), None)
        if key is None:
            return None
        principal = _find_principal(key)
        if principal is None:
            # Unknown, expired and revoked keys get the same error, to give no hint to attackers.
            raise AuthenticationFailed("This API key is not valid.")
        return None, principal

    def require(self, request: Request) -> KeyPrincipal:
        """Return the owner of the request's key. Raise AuthenticationFailed without one."""
        authenticated = self.authenticate(request)
        if authenticated is None:
            raise AuthenticationFailed("Send an API key: `Authorization: Bearer km_…`.")
        return authenticated[1]

    def authenticate_header(self, request: Request) -> str:
        """Return a scheme: without one, DRF answers 403 instead of 401."""
        return "Bearer"


def parse_keys(headers: Mapping[str, str]) -> Iterator[str]:
    """Yield the keys in the headers of a request; the first one counts."""
    scheme, _, key = headers.get("Authorization", "").strip().partition(" ")
    if scheme.lower() in SCHEMES:
        yield key.strip()
    if "X-Api-Key" in headers:
        yield headers["X-Api-Key"].strip()


def _find_principal(key: str) -> KeyPrincipal | None:
    match = KEY_FORMAT.fullmatch(key)
    if not match:
        return None
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id, account_id, account_slug, name, hash, scopes, expires_at, revoked_at, "
            "last_used_at, is_archived FROM api_key_by_prefix(%s)",
            [match[1]],
        )
        row = cursor.fetchone()
    if row is None:
        return None
    key_id, account_id, slug, name, stored_hash, scopes, expires_at, revoked_at, *rest = row
    last_used_at, is_archived = rest
    if not hmac.compare_digest(stored_hash, hashlib.sha256(key.encode()).hexdigest()):
        return None
    now = timezone.now()
    if revoked_at is not None or (expires_at is not None and expires_at <= now):
        return None
    if last_used_at is None or last_used_at < now - LAST_USED_INTERVAL:
        record_key_use(account_id, key_id)
    return KeyPrincipal(
        key_id=key_id,
        account_id=account_id,
        account_slug=slug,
        name=name,
        scopes=frozenset(scopes),
        is_archived=is_archived,
    )
