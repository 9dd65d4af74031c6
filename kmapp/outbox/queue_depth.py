"""Queue depth in the broker.

A message says only that there is work: who takes one of a hundred finds all that is owed. So there
need never be more, and none carries a time after which it is stale: the clock of who sends it and
the clock of who takes it may be hours apart.
"""

from collections.abc import Iterable

from django.conf import settings
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

ENOUGH = 100  # messages in one queue


def waiting(queues: Iterable[str]) -> int:
    """Messages that nobody took yet; 0 if the broker is away, or not ready: nobody can tell."""
    # A connection that never outlives a look.
    with Redis.from_url(
        settings.REDIS_URL, socket_timeout=2, retry=Retry(NoBackoff(), 0)
    ) as broker:
        try:
            return sum(int(broker.llen(queue)) for queue in queues)
        except RedisError:
            return 0


def is_crowded(queue: str) -> bool:
    """Whether one more message would tell nobody anything new."""
    return waiting([queue]) >= ENOUGH
