"""Responses of passkeys that a browser would not send."""

import json

import pytest
from django.contrib.auth import SESSION_KEY
from django.test import Client
from fido2.utils import websafe_encode
from fido2.webauthn import CollectedClientData

from kmapp.accounts.models import User
from tests.makers import PASSWORD
from tests.web.security_key import ORIGIN, SITE, SecurityKey
from tests.web.totp import add_app, freeze

ALONE, SECOND = "/sign-in/passkey/", "/sign-in/second-factor/"
CLIENT_DATA = CollectedClientData.create("webauthn.get", b"challenge", ORIGIN)
TRUNCATED = {  # the length of its extensions is missing
    "id": "eA",
    "rawId": "eA",
    "response": {
        "clientDataJSON": websafe_encode(CLIENT_DATA),
        "authenticatorData": websafe_encode(SITE + b"\x81\0\0\0\0\xb9"),
        "signature": "eA",
    },
}
MALFORMED = ['{"id": "x"}', "[]", '{"id": 1}', "{", "[" * 100_000, json.dumps(TRUNCATED)]


def enter_password(user: User) -> Client:
    client = Client()
    client.post("/sign-in/", {"username": user.username, "password": PASSWORD})
    return client


def test_key_that_does_not_check_its_user_is_only_a_second_factor(
    alice: User, ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thief of the key uses the challenge of their own second factor, which needs no check."""
    key = SecurityKey(alice)
    freeze(monkeypatch)
    add_app(enter_password(ada))
    thief = enter_password(ada)
    thief.get(SECOND)
    thief.post(ALONE, {"credential": key.sign(thief, checks_user=False)})
    assert SESSION_KEY not in thief.session

    person = Client()
    person.get(ALONE, headers={"accept": "application/json"})
    person.post(ALONE, {"credential": key.sign(person, checks_user=True)})
    assert person.session[SESSION_KEY] == str(alice.pk)
    other = enter_password(alice)
    other.get(SECOND)
    other.post(SECOND, {"credential": key.sign(other, checks_user=False)})
    assert other.session[SESSION_KEY] == str(alice.pk)


@pytest.mark.parametrize("credential", MALFORMED)
def test_malformed_response_is_not_accepted(alice: User, credential: str) -> None:
    SecurityKey(alice)
    sent = {"credential": credential}
    assert Client().post(ALONE, sent).headers["Location"] == "/sign-in/"
    assert enter_password(alice).post(SECOND, sent).status_code == 422
