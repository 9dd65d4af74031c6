"""Sign-in with OpenID Connect: authorization code, PKCE, state and nonce.

The provider's addresses were named by an admin of an account, so every request goes through
`kmapp.security.egress` to hosts that the operator allows.
"""

import hmac
import secrets
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from http import HTTPStatus
from typing import Any, Self
from urllib.parse import quote_plus, urlencode

from django.conf import settings

from kmapp.accounts.company_sign_in.assertions import Assertion, RefusalReason, SignInRefused
from kmapp.accounts.company_sign_in.id_tokens import parse_claims, verify_id_token
from kmapp.accounts.company_sign_in.models import CompanySignIn
from kmapp.database.encryption import DecryptionFailed, decrypt_text
from kmapp.security.egress.allowed_urls import (
    AllowedSites,
    CannotReach,
    is_secure,
    validate_address,
)
from kmapp.security.egress.json_requests import request_json

SCOPE = "openid email profile"
DISCOVERY = "/.well-known/openid-configuration"


def get_allowed_providers() -> AllowedSites:
    return AllowedSites.of(settings.SIGN_IN_HOSTS, settings.SIGN_IN_PRIVATE)


def may_use_address(url: str) -> bool:
    """Return whether a provider may have this URL: over TLS, or in an allowed private network."""
    allowed = get_allowed_providers()
    return is_secure(validate_address(url, allowed), allowed)


@dataclass(frozen=True, slots=True, kw_only=True)
class StartedSignIn:
    """The secrets of a sign-in that a browser started, in its session."""

    state: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    nonce: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    verifier: str = field(default_factory=lambda: secrets.token_urlsafe(64))

    @classmethod
    def load(cls, stored: Mapping[str, str]) -> Self:
        return cls(**stored)

    def dump(self) -> dict[str, str]:
        return asdict(self)

    @property
    def challenge(self) -> str:
        return urlsafe_b64encode(sha256(self.verifier.encode()).digest()).decode().rstrip("=")


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityProvider:
    """The addresses of a provider, from its own description."""

    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str
    takes_secret_in_body: bool


def find_issuer(url: str) -> str:
    """Return the issuer as the provider at this URL writes it. Raise SignInRefused."""
    described = _request("GET", url.rstrip("/") + DISCOVERY).get("issuer")
    if not isinstance(described, str) or described.rstrip("/") != url.rstrip("/"):
        raise SignInRefused(RefusalReason.INVALID, "discovery: another issuer")
    load_provider(described)
    return described


def load_provider(issuer: str) -> IdentityProvider:
    """Load the description of a provider. Raise SignInRefused if it states another issuer."""
    described = _request("GET", issuer.rstrip("/") + DISCOVERY)
    if described.get("issuer") != issuer:
        raise SignInRefused(RefusalReason.INVALID, "discovery: another issuer")
    names = ("authorization_endpoint", "token_endpoint", "jwks_uri")
    addresses = {name: described.get(name) for name in (*names, "userinfo_endpoint")}
    if not all(isinstance(addresses[name], str) for name in names):
        raise SignInRefused(RefusalReason.INVALID, "discovery: an address is missing")
    if not is_allowed(addresses["authorization_endpoint"]):
        raise SignInRefused(
            RefusalReason.INVALID, "discovery: the address of sign-in is not allowed"
        )
    methods = described.get("token_endpoint_auth_methods_supported") or ()
    return IdentityProvider(
        **{name: str(addresses[name]) for name in names},
        userinfo_endpoint=str(addresses["userinfo_endpoint"] or ""),
        # Preferred to the header, in which providers encode special characters differently.
        takes_secret_in_body="client_secret_post" in methods,
    )


def build_authorization_url(
    sign_in: CompanySignIn, started: StartedSignIn, redirect_uri: str
) -> str:
    """Return the address at the provider to which the browser goes."""
    address = load_provider(sign_in.issuer).authorization_endpoint
    query = {
        "response_type": "code",
        "client_id": sign_in.client_id,
        "redirect_uri": redirect_uri,
        "scope": SCOPE,
        "state": started.state,
        "nonce": started.nonce,
        "code_challenge": started.challenge,
        "code_challenge_method": "S256",
    }
    return f"{address}{'&' if '?' in address else '?'}{urlencode(query)}"


def load_assertion(
    sign_in: CompanySignIn, started: StartedSignIn, answer: Mapping[str, str], redirect_uri: str
) -> Assertion:
    """Return what the provider states about the person whom it sent back with this query."""
    if not hmac.compare_digest(answer.get("state", "").encode(), started.state.encode()):
        raise SignInRefused(RefusalReason.EXPIRED, "response: it is for another sign-in")
    if answer.get("iss", sign_in.issuer) != sign_in.issuer:
        raise SignInRefused(RefusalReason.INVALID, "response: from another issuer")
    if "error" in answer:
        cancelled = answer["error"] == "access_denied"
        reason = RefusalReason.CANCELLED if cancelled else RefusalReason.INVALID
        raise SignInRefused(reason, f"response: error {answer['error'][:40]!r}")
    provider = load_provider(sign_in.issuer)
    tokens = _request_tokens(sign_in, provider, started, answer.get("code", ""), redirect_uri)
    claims = verify_id_token(
        str(tokens.get("id_token", "")),
        _request("GET", provider.jwks_uri),
        issuer=sign_in.issuer,
        client_id=sign_in.client_id,
        nonce=started.nonce,
    )
    is_complete = "email" in claims and sign_in.groups_claim in claims
    if provider.userinfo_endpoint and not is_complete:
        claims = _add_userinfo(claims, provider, str(tokens.get("access_token", "")))
    return parse_claims(claims, sign_in.groups_claim)


def _request_tokens(
    sign_in: CompanySignIn,
    provider: IdentityProvider,
    started: StartedSignIn,
    code: str,
    redirect_uri: str,
) -> dict[str, Any]:
    """Exchange the code for tokens, with the client's secret and the PKCE verifier."""
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": redirect_uri,
        "code_verifier": started.verifier,
    }
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    try:
        secret = decrypt_text(sign_in.client_secret)
    except DecryptionFailed as error:
        raise SignInRefused(
            RefusalReason.INVALID, "the client secret cannot be decrypted"
        ) from error
    if provider.takes_secret_in_body:
        form |= {"client_id": sign_in.client_id, "client_secret": secret}
    else:
        pair = f"{quote_plus(sign_in.client_id)}:{quote_plus(secret)}"
        headers["Authorization"] = f"Basic {b64encode(pair.encode()).decode()}"
    return _request("POST", provider.token_endpoint, headers, urlencode(form).encode())


def _add_userinfo(claims: dict[str, Any], provider: IdentityProvider, token: str) -> dict[str, Any]:
    """Add claims that the ID token leaves out, if they are about the same person."""
    more = _request("GET", provider.userinfo_endpoint, {"Authorization": f"Bearer {token}"})
    if more.get("sub") != claims["sub"]:
        raise SignInRefused(RefusalReason.INVALID, "userinfo: about another person")
    return {**more, **claims}


def _request(
    method: str, url: str, headers: Mapping[str, str] | None = None, content: bytes | None = None
) -> dict[str, Any]:
    """Return the JSON object at an address of the provider."""
    try:
        if not is_allowed(url):
            raise SignInRefused(RefusalReason.UNREACHABLE, "an address without TLS")
        answer = request_json(
            method, url, get_allowed_providers(), headers=headers, content=content
        )
    except CannotReach as error:
        raise SignInRefused(RefusalReason.UNREACHABLE, str(error)) from error
    if answer.status != HTTPStatus.OK:
        error_code = str(answer.body.get("error", ""))[:40]
        detail = f"HTTP status {answer.status} {error_code!r}"
        raise SignInRefused(RefusalReason.INVALID, detail)
    return answer.body


def is_allowed(url: Any) -> bool:
    """Return whether an address is safe to use. Raise SignInRefused if its host is not allowed."""
    try:
        return isinstance(url, str) and may_use_address(url)
    except CannotReach as error:
        raise SignInRefused(RefusalReason.UNREACHABLE, str(error)) from error
