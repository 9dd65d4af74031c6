"""Encryption of stored secrets, such as keys of other servers.

Secrets that are only compared are hashed instead (see `ApiKey`). The encryption key is derived from
`SECRET_KEY`, which is outside the database, so a dump alone reveals nothing.
"""

from base64 import urlsafe_b64encode

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings
from django.utils.encoding import force_bytes


class DecryptionFailed(Exception):
    """A secret was encrypted with a SECRET_KEY that this installation no longer has."""


def encrypt_text(text: str) -> str:
    return _build_ciphers().encrypt(text.encode()).decode()


def decrypt_text(encrypted: str) -> str:
    """Decrypt a text. Raise DecryptionFailed if no key fits."""
    try:
        return _build_ciphers().decrypt(encrypted.encode()).decode()
    except InvalidToken as error:
        raise DecryptionFailed("It was sealed with another SECRET_KEY.") from error


def _build_ciphers() -> MultiFernet:
    """Return the ciphers: the present key encrypts, former keys can still decrypt."""
    ciphers = []
    for secret in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS):
        derived = HKDF(algorithm=SHA256(), length=32, salt=None, info=b"kmapp.sealing")
        ciphers.append(Fernet(urlsafe_b64encode(derived.derive(force_bytes(secret)))))
    return MultiFernet(ciphers)
