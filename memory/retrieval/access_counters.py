"""Counters of memory accesses in Valkey, flushed periodically.

A read writes nothing to the database. When Valkey is away, some are not counted.
"""

from collections.abc import Iterable
from typing import cast
from uuid import UUID

from django.core.cache import cache

from kmapp.api.cache import ValkeyCache

TTL_SECONDS = 86_400
_ADD_SCRIPT = """
for i = 2, #ARGV do redis.call('HINCRBY', KEYS[1], ARGV[i], 1) end
redis.call('EXPIRE', KEYS[1], ARGV[1])
return #ARGV - 1
"""
_TAKE_SCRIPT = """
local counted = redis.call('HGETALL', KEYS[1])
redis.call('DEL', KEYS[1])
return counted
"""


def count_accesses(account_id: UUID, ids: Iterable[UUID]) -> None:
    """Count one recall of each of these memories."""
    entry_ids = [str(pk) for pk in ids]
    if entry_ids:
        cast(ValkeyCache, cache).run(_ADD_SCRIPT, _build_key(account_id), TTL_SECONDS, *entry_ids)


def take_counts(account_id: UUID) -> dict[UUID, int]:
    """Return and reset the counts since the last call."""
    flat_counts = cast(ValkeyCache, cache).run(_TAKE_SCRIPT, _build_key(account_id)) or []
    return {
        UUID(pk.decode()): int(number)
        for pk, number in zip(flat_counts[::2], flat_counts[1::2], strict=True)
    }


def _build_key(account_id: UUID) -> str:
    return f"memory.accessed:{account_id}"
