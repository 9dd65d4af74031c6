"""Queue depth in the broker.

A message only says that there is work, so a hundred per queue are enough. Messages have no expiry,
because the clocks of sender and receiver may be hours apart.
"""

from collections.abc import Iterable

from django.conf import settings
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

ENOUGH = 100  # messages in one queue


def waiting(queues: Iterable[str]) -> int:
    """Return the number of messages that no worker took yet, or 0 if the broker is away."""
    no_retries = Retry(NoBackoff(), 0)
    with Redis.from_url(settings.REDIS_URL, socket_timeout=2, retry=no_retries) as broker:
        try:
            return sum(int(broker.llen(queue)) for queue in queues)
        except RedisError:
            return 0


def is_crowded(queue: str) -> bool:
    return waiting([queue]) >= ENOUGH
