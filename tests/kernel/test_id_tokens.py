"""ID tokens that are not the provider's, or not for this client and sign-in (ASVS 10.5)."""

import json
import time
from collections.abc import Callable
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from kmapp.accounts.company_sign_in.assertions import RefusalReason, SignInRefused
from kmapp.accounts.company_sign_in.id_tokens import parse_claims, verify_id_token

RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)
FOREIGN = rsa.generate_private_key(public_exponent=65537, key_size=2048)
CURVE = ec.generate_private_key(ec.SECP256R1())


def public(key: Any, algorithm: str, kid: str) -> dict[str, Any]:
    jwk = jwt.algorithms.get_default_algorithms()[algorithm].to_jwk(key.public_key())
    return {**json.loads(jwk), "kid": kid, "alg": algorithm, "use": "sig"}


KEYS = {"keys": [public(RSA, "RS256", "one"), public(CURVE, "ES256", "two")]}
CLAIMS = {
    "iss": "https://login.test",
    "aud": "kmapp",
    "sub": "s-1",
    "nonce": "n-1",
    "email": " Noor@acme.test",
    "email_verified": True,
    "groups": ["staff", 7],
}


def sign(key: Any = RSA, algorithm: str = "RS256", kid: str | None = "one", **changes: Any) -> str:
    now = int(time.time())
    claims = CLAIMS | {"iat": now, "exp": now + 60} | changes
    stated = {name: value for name, value in claims.items() if value is not None}
    return jwt.encode(stated, key, algorithm, headers={"kid": kid} if kid else {})


def verify(token: str, keys: Any = None) -> dict[str, Any]:
    expected = {"issuer": "https://login.test", "client_id": "kmapp", "nonce": "n-1"}
    return verify_id_token(token, keys or KEYS, **expected)


def test_tokens_of_the_provider_are_read() -> None:
    only = {"keys": KEYS["keys"][:1]}
    tokens = (sign(), sign(CURVE, "ES256", "two"), sign(aud=["kmapp"]), sign(azp="kmapp"))
    for claims in (*map(verify, tokens), verify(sign(kid=None), only)):
        stated = parse_claims(claims, "groups")
        assert (stated.subject, stated.email) == ("s-1", "Noor@acme.test")
        assert (stated.is_verified, stated.groups) == (True, frozenset({"staff"}))
    entra = {name: value for name, value in CLAIMS.items() if name != "email_verified"}
    assert not parse_claims(entra, "groups").is_verified
    assert parse_claims(entra | {"xms_edov": "1"}, "groups").is_verified
    assert parse_claims(CLAIMS | {"groups": "staff"}, "groups").groups == {"staff"}
    odd = CLAIMS | {"groups": {"staff": 1}, "name": "a\x00b", "email_verified": "false"}
    assert not parse_claims(odd, "groups").groups
    assert parse_claims(odd, "groups").name == ""
    assert not parse_claims(odd, "groups").is_verified


HOUR = 3600
FORGED: dict[str, Callable[[], str]] = {
    "the key of someone else": lambda: sign(FOREIGN),
    "an unknown key": lambda: sign(kid="three"),
    "no key, of several": lambda: sign(kid=None),
    "a key of another kind": lambda: sign(CURVE, "ES256", "one"),
    "no signature": lambda: sign("", "none"),
    "a shared secret": lambda: sign(b"the client secret, which has many bytes", "HS256"),
    "another issuer": lambda: sign(iss="https://other.test"),
    "another client": lambda: sign(aud="another"),
    "several clients": lambda: sign(aud=["kmapp", "another"]),
    "a client that acts for us": lambda: sign(azp="another"),
    "another sign-in": lambda: sign(nonce="n-2"),
    "no sign-in": lambda: sign(nonce=None),
    "expired": lambda: sign(exp=int(time.time()) - HOUR),
    "never expires": lambda: sign(exp=None),
    "from the future": lambda: sign(iat=int(time.time()) + HOUR),
    "nobody": lambda: sign(sub=None),
    "damaged": lambda: sign()[:-9] + "AAAAAAAAA",
    "no token": lambda: "",
}
UNREADABLE_KEYS: list[Any] = [{"keys": []}, {"keys": "x"}, {"keys": [7]}, {"keys": None}, {}]
UNREADABLE_CLAIMS: list[Any] = [
    *({"sub": subject} for subject in ("", "x" * 256, "a\x00", 7)),
    {"email": 7},
]


def refusal(read: Callable[..., object], *arguments: Any) -> RefusalReason | None:
    try:
        read(*arguments)
    except SignInRefused as error:
        return error.reason
    return None


def test_other_tokens_are_refused() -> None:
    reasons = {name: refusal(verify, forge()) for name, forge in FORGED.items()}
    assert reasons == dict.fromkeys(FORGED, RefusalReason.INVALID)
    for keys in UNREADABLE_KEYS:
        assert refusal(verify, sign(), {**keys, "no": 1}) == RefusalReason.INVALID, keys
    for claims in UNREADABLE_CLAIMS:
        assert refusal(parse_claims, CLAIMS | claims, "groups") == RefusalReason.INVALID, claims
