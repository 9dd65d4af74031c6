"""Keyed digests that recognise equal content without revealing it.

The key is `SECRET_KEY`; digests with a key of `SECRET_KEY_FALLBACKS` are still recognised.
"""

import hashlib
import hmac
from collections.abc import Iterator
from functools import lru_cache

from django.conf import settings
from django.utils.crypto import constant_time_compare
from django.utils.encoding import force_bytes


def keyed_digest(purpose: str, content: str | bytes) -> str:
    """Return the digest as 64 hex digits. Digests of different purposes differ."""
    return next(keyed_digests(purpose, content))


def matches_digest(stored: str, purpose: str, content: str | bytes) -> bool:
    return any(constant_time_compare(stored, each) for each in keyed_digests(purpose, content))


def keyed_digests(purpose: str, content: str | bytes) -> Iterator[str]:
    """Yield the digests with all keys, the present key first.

    They are those of `django.utils.crypto.salted_hmac`, which derives its key again each time.
    """
    for secret in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS):
        yield hmac.digest(_derive_key(purpose, secret), force_bytes(content), "sha256").hex()


@lru_cache(maxsize=1_000)  # purposes may name an account
def _derive_key(purpose: str, secret: str) -> bytes:
    return hashlib.sha256(force_bytes(purpose) + force_bytes(secret)).digest()
