"""Keyed digests that recognise equal content without revealing it.

They are keyed with `SECRET_KEY`. After an exchange of it, what was kept before is still known: by
`SECRET_KEY_FALLBACKS`, like all that the old key signed.
"""

from collections.abc import Iterator

from django.conf import settings
from django.utils.crypto import constant_time_compare, salted_hmac


def keyed_digest(purpose: str, content: str | bytes) -> str:
    """As 64 hex digits, for this purpose alone."""
    return _digest(purpose, content, settings.SECRET_KEY)


def matches_digest(stored: str, purpose: str, content: str | bytes) -> bool:
    """Whether a digest that was kept is that of this text."""
    return any(constant_time_compare(stored, each) for each in keyed_digests(purpose, content))


def keyed_digests(purpose: str, content: str | bytes) -> Iterator[str]:
    """All that may have been kept of this text: of today's secret first."""
    secrets = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    return (_digest(purpose, content, each) for each in secrets)


def _digest(purpose: str, content: str | bytes, secret: str) -> str:
    return salted_hmac(purpose, content, secret=secret, algorithm="sha256").hexdigest()
