"""Encryption of stored secrets, such as keys of other servers.

What we only have to recognise is hashed instead (see `ApiKey`). The key is made of `SECRET_KEY`,
which stands outside the database: a dump alone opens nothing.
"""

from base64 import urlsafe_b64encode

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings
from django.utils.encoding import force_bytes


class CannotOpen(Exception):
    """It was sealed with a SECRET_KEY that this installation no longer has."""


def seal(text: str) -> str:
    """Unreadable without SECRET_KEY, and another text each time."""
    return _lock().encrypt(text.encode()).decode()


def unseal(sealed: str) -> str:
    """Decrypt a text. Raise CannotOpen if no key fits."""
    try:
        return _lock().decrypt(sealed.encode()).decode()
    except InvalidToken as error:
        raise CannotOpen("It was sealed with another SECRET_KEY.") from error


def _lock() -> MultiFernet:
    """Return the ciphers: the present key encrypts, former keys can still decrypt."""
    return MultiFernet(
        [_fernet(key) for key in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)]
    )


def _fernet(secret: str | bytes) -> Fernet:
    derived = HKDF(algorithm=SHA256(), length=32, salt=None, info=b"kmapp.sealing")
    return Fernet(urlsafe_b64encode(derived.derive(force_bytes(secret))))
