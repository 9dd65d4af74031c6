"""Cache version of an account's knowledge; a change invalidates cached answers."""

from uuid import UUID

from django.core.cache import cache
from django.db import transaction

from kmapp.database.ids import uuid7

CACHE_SECONDS = 24 * 3600


def get_cache_version(account_id: UUID) -> str:
    """Return the version under which answers are cached; "" without a cache."""
    key = _build_key(account_id)
    version = cache.get(key)
    if version is None:
        version = str(uuid7())
        cache.add(key, version, timeout=CACHE_SECONDS)
        version = cache.get(key)
    return version or ""


def invalidate_cache(account_id: UUID) -> None:
    """Invalidate the cached answers when this transaction commits."""
    transaction.on_commit(
        lambda: cache.set(_build_key(account_id), str(uuid7()), timeout=CACHE_SECONDS), robust=True
    )


def _build_key(account_id: UUID) -> str:
    return f"knowledge-stamp:{account_id}"
