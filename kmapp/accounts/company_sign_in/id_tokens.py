"""Verification of ID tokens (OpenID Connect Core 1.0, section 3.1.3.7). Pure."""

import hmac
from collections.abc import Mapping
from typing import Any

import jwt

from kmapp.accounts.company_sign_in.assertions import Assertion, RefusalReason, SignInRefused

# Public-key signatures only: "none" proves nothing, and HMAC would make the client secret a key.
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512")
REQUIRED = ["iss", "sub", "aud", "exp", "iat", "nonce"]
CLOCK_SKEW = 60  # seconds
MAX_SUBJECT_LENGTH = 255  # characters, by the standard


def verify_id_token(
    token: str, keys: Mapping[str, Any], *, issuer: str, client_id: str, nonce: str
) -> dict[str, Any]:
    """Return the claims of a token that the issuer made for this client and this sign-in."""
    try:
        claims = jwt.decode(
            token,
            _find_key(token, keys),
            algorithms=list(ALGORITHMS),
            audience=client_id,
            issuer=issuer,
            leeway=CLOCK_SKEW,
            options={"require": REQUIRED},
        )
    except (jwt.PyJWTError, ValueError, TypeError, AttributeError, LookupError) as error:
        raise SignInRefused(RefusalReason.INVALID, f"ID token: {error}") from error
    if not hmac.compare_digest(str(claims["nonce"]).encode(), nonce.encode()):
        raise SignInRefused(RefusalReason.INVALID, "ID token: it is for another sign-in")
    for_others = isinstance(claims["aud"], list) and len(claims["aud"]) > 1
    if claims.get("azp", None if for_others else client_id) != client_id:
        raise SignInRefused(RefusalReason.INVALID, "ID token: it is for another client")
    return claims


def _find_key(token: str, keys: Mapping[str, Any]) -> jwt.PyJWK:
    """Return the key that the token's header names, or the only key if the header names none."""
    key_id = jwt.get_unverified_header(token).get("kid")
    signing = [key for key in jwt.PyJWKSet.from_dict(dict(keys)).keys if _can_sign(key)]
    if key_id is None and len(signing) == 1:
        return signing[0]
    for key in signing:
        if key_id is not None and key.key_id == key_id:
            return key
    raise jwt.InvalidKeyError("the provider has no such key")


def _can_sign(key: jwt.PyJWK) -> bool:
    return key.public_key_use in (None, "sig") and key.algorithm_name in ALGORITHMS


def parse_claims(claims: Mapping[str, Any], groups_claim: str) -> Assertion:
    """Return what the claims state about the person. Raise SignInRefused if they are unreadable."""
    subject, email = claims.get("sub"), claims.get("email", "")
    if not isinstance(subject, str) or not 0 < len(subject) <= MAX_SUBJECT_LENGTH:
        raise SignInRefused(RefusalReason.INVALID, "claims: no subject")
    if not subject.isprintable():
        raise SignInRefused(RefusalReason.INVALID, "claims: unreadable subject")
    if not isinstance(email, str):
        raise SignInRefused(RefusalReason.INVALID, "claims: unreadable e-mail address")
    name = claims.get("name", "")
    groups = claims.get(groups_claim, [])
    listed = [groups] if isinstance(groups, str) else groups
    return Assertion(
        subject=subject,
        email=email.strip(),
        is_verified=_is_verified(claims),
        name=name if isinstance(name, str) and name.isprintable() else "",
        groups=frozenset(each for each in listed if isinstance(each, str))
        if isinstance(listed, list)
        else frozenset(),
    )


def _is_verified(claims: Mapping[str, Any]) -> bool:
    """Return whether the address is verified; Entra ID states it in a claim of its own."""
    stated = claims.get("email_verified", claims.get("xms_edov", False))
    return stated in (True, "true", "True", "1")
