"""Keyed digests that recognise equal content without revealing it.

The key is `SECRET_KEY`; digests with a key of `SECRET_KEY_FALLBACKS` are still recognised.
"""

from collections.abc import Iterator

from django.conf import settings
from django.utils.crypto import constant_time_compare, salted_hmac


def keyed_digest(purpose: str, content: str | bytes) -> str:
    """Return the digest as 64 hex digits. Digests of different purposes differ."""
    return next(keyed_digests(purpose, content))


def matches_digest(stored: str, purpose: str, content: str | bytes) -> bool:
    return any(constant_time_compare(stored, each) for each in keyed_digests(purpose, content))


def keyed_digests(purpose: str, content: str | bytes) -> Iterator[str]:
    """Yield the digests with all keys, the present key first."""
    for secret in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS):
        yield salted_hmac(purpose, content, secret=secret, algorithm="sha256").hexdigest()
