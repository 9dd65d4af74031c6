"""Counters of memory accesses in Valkey, flushed periodically.

A read writes nothing to the database. While Valkey is unavailable, recalls are not counted.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from uuid import UUID

from kmapp.runtime.cache_backend import valkey_cache

TTL_SECONDS = 86_400
_ADD_SCRIPT = """
for i = 2, #ARGV, 2 do redis.call('HINCRBY', KEYS[1], ARGV[i], ARGV[i + 1]) end
redis.call('EXPIRE', KEYS[1], ARGV[1])
"""
_TAKE_SCRIPT = """
local counted = redis.call('HGETALL', KEYS[1])
redis.call('DEL', KEYS[1])
return counted
"""


def count_accesses(account_id: UUID, ids: Iterable[UUID]) -> None:
    """Count one recall of each of these memories."""
    add_counts(account_id, Counter(iter(ids)))  # `iter`: a mapping would give counts


def add_counts(account_id: UUID, counts: Mapping[UUID, int]) -> None:
    """Add numbers of recalls, for example those that could not be stored."""
    pairs = [value for pk, number in counts.items() for value in (str(pk), number)]
    if pairs:
        valkey_cache.run(_ADD_SCRIPT, _build_key(account_id), TTL_SECONDS, *pairs)


def take_counts(account_id: UUID) -> dict[UUID, int]:
    """Return and reset the counts since the last call."""
    flat_counts = valkey_cache.run(_TAKE_SCRIPT, _build_key(account_id)) or []
    return {
        UUID(pk.decode()): int(number)
        for pk, number in zip(flat_counts[::2], flat_counts[1::2], strict=True)
    }


def _build_key(account_id: UUID) -> str:
    return f"memory.accessed:{account_id}"
