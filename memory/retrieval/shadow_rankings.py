"""Comparisons of the live ranking with the one in shadow, on the questions of agents.

A search writes nothing to the database: pending comparisons stay in Valkey until a job stores them.
While Valkey is unavailable, none are recorded.
"""

import json
from collections.abc import Collection
from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

from django.core.cache import cache

from kmapp.database.keyed_digests import keyed_digest
from kmapp.runtime.cache_backend import valkey_cache
from kmapp.search.candidate_ranking import RankedCandidates, rank_signals
from kmapp.search.variants import AccountRanking
from memory.models import Viewer

COMPARED_RESULTS = 10  # results that are compared
MAX_ID_LENGTH = 200  # characters of an id, the limit of its column
MAX_PENDING = 200  # comparisons of an account between two flushes
TTL_SECONDS = 3_600
ERASED_SECONDS = 24 * 3_600  # longer than a comparison is pending, even if jobs stop for hours
_PUSH_SCRIPT = """
redis.call('LPUSH', KEYS[1], ARGV[1])
redis.call('LTRIM', KEYS[1], 0, ARGV[2])
redis.call('EXPIRE', KEYS[1], ARGV[3])
"""
_TAKE_SCRIPT = """
local waiting = redis.call('LRANGE', KEYS[1], 0, -1)
redis.call('DEL', KEYS[1])
return waiting
"""


@dataclass(frozen=True, slots=True)
class Shadow:
    """A ranking that is compared with the live one."""

    account_id: UUID
    id: UUID
    ranking: AccountRanking


def push_observation(shadow: Shadow, query: str, viewer: Viewer, ranked: RankedCandidates) -> None:
    """Compare the results of a search with those by the ranking in shadow."""
    ids = asdict(viewer)
    if any(len(value or "") > MAX_ID_LENGTH for value in ids.values()):
        return  # from a filter, which may have longer values
    shadow_ranked = rank_signals(ranked.signals, shadow.ranking.weights)
    observation = {
        "ranking": str(shadow.id),
        "question": query,
        "viewer": ids,
        "before": ranked.ids[:COMPARED_RESULTS],
        "after": shadow_ranked.ids[:COMPARED_RESULTS],
    }
    key, last_index = _build_key(shadow.account_id), MAX_PENDING - 1
    valkey_cache.run(_PUSH_SCRIPT, key, json.dumps(observation), last_index, TTL_SECONDS)


def has_observations(account_id: UUID) -> bool:
    return valkey_cache.has_key(_build_key(account_id))


def take_observations(account_id: UUID) -> list[dict[str, Any]]:
    """Return and remove the pending comparisons, newest first."""
    observations = valkey_cache.run(_TAKE_SCRIPT, _build_key(account_id)) or []
    return [json.loads(each) for each in observations]


def record_erased_people(account_id: UUID, people: Collection[str]) -> None:
    """Exclude the questions of these people that running searches have yet to push.

    After a rollback of the erasure, they stay excluded for ERASED_SECONDS: some comparisons are
    then missing, but none is stored that should not be.
    """
    markers = {_build_person_key(account_id, each): 1 for each in people}
    if markers:
        cache.set_many(markers, timeout=ERASED_SECONDS)


def find_erased_people(account_id: UUID, people: Collection[str]) -> set[str]:
    """Return those of these people that were erased within ERASED_SECONDS."""
    keys = {_build_person_key(account_id, each): each for each in people}
    return {keys[key] for key in cache.get_many(keys)} if keys else set()


def _build_person_key(account_id: UUID, user_id: str) -> str:
    return f"memory.shadow.erased:{account_id}:{keyed_digest('erased_person', user_id)}"


def _build_key(account_id: UUID) -> str:
    return f"memory.shadow:{account_id}"
