"""A security key in software: the row of its registration, and its signatures."""

import json
from hashlib import sha256
from typing import Any

from allauth.account.utils import user_pk_to_url_str
from allauth.mfa.models import Authenticator
from allauth.mfa.webauthn.internal.auth import STATE_SESSION_KEY
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from django.test import Client
from fido2.cose import ES256
from fido2.utils import websafe_encode
from fido2.webauthn import (
    AttestationObject,
    AttestedCredentialData,
    AuthenticatorData,
    CollectedClientData,
)

from kmapp.accounts.models import User

ORIGIN = "https://testserver"
SITE = sha256(b"testserver").digest()
ID = b"security-key"
Flag = AuthenticatorData.FLAG
ALGORITHM: Any = ES256  # its methods have no types


class SecurityKey:
    """A key that a person has added to their login."""

    def __init__(self, user: User) -> None:
        self.user = user
        self.private = ec.generate_private_key(ec.SECP256R1())
        public = ALGORITHM.from_cryptography_key(self.private.public_key())
        attested = AttestedCredentialData.create(bytes(16), ID, public)
        stored = AuthenticatorData.create(SITE, Flag.UP | Flag.AT, 0, attested)
        client_data = CollectedClientData.create("webauthn.create", b"challenge", ORIGIN)
        response = {
            "clientDataJSON": websafe_encode(client_data),
            "attestationObject": websafe_encode(AttestationObject.create("none", stored, {})),
        }
        data = {"name": "Key", "credential": _build_credential(response)}
        Authenticator.objects.create(user=user, type=Authenticator.Type.WEBAUTHN, data=data)

    def sign(self, client: Client, *, checks_user: bool) -> str:
        """Answer the challenge in the session of a client, as the form sends it."""
        challenge = client.session[STATE_SESSION_KEY]["challenge"]
        client_data = CollectedClientData.create("webauthn.get", challenge, ORIGIN)
        flags = Flag.UP | Flag.UV if checks_user else Flag.UP
        signed = AuthenticatorData.create(SITE, flags, 0)
        signature = self.private.sign(signed + client_data.hash, ec.ECDSA(SHA256()))
        response = {
            "clientDataJSON": websafe_encode(client_data),
            "authenticatorData": websafe_encode(signed),
            "signature": websafe_encode(signature),
            "userHandle": websafe_encode(user_pk_to_url_str(self.user).encode()),
        }
        return json.dumps(_build_credential(response))


def _build_credential(response: dict[str, str]) -> dict[str, Any]:
    name = websafe_encode(ID)
    return {"id": name, "rawId": name, "type": "public-key", "response": response}
