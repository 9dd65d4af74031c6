"""Short-lived cache of query vectors.

Per account, so that response times do not reveal queries of other accounts. Without the cache, a
query is embedded again.
"""

from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from uuid import UUID

import structlog
from django.conf import settings
from django.core.cache import cache

from kmapp.providers.embedding import Embedder
from kmapp.providers.metrics import QUERY_CACHE
from kmapp.providers.models import EmbeddingModel
from kmapp.providers.vector_validation import Unusable, pack_vector, parse_vector

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class QueryEmbedding:
    """The vector of a query, and whether it was in the cache."""

    vector: list[float]
    cached: bool


def get_query_vector(
    account_id: UUID, text: str, *, model: EmbeddingModel, embedder: Embedder
) -> QueryEmbedding:
    """Return the vector of a query from the cache or `embedder`, which may raise."""
    parts = (model.name, str(model.dimensions), model.query_prefix, text)
    key = f"query-vector:{account_id}:{sha256(chr(0).join(parts).encode()).hexdigest()}"
    cached, is_up = _load_vector(key, model)
    if cached:
        return QueryEmbedding(cached, cached=True)
    [vector] = embedder.embed([text], kind="query")
    if is_up:
        try:
            cache.set(key, pack_vector(vector), timeout=settings.QUERY_CACHE_SECONDS)
        except Exception as error:  # noqa: BLE001 - no error of the cache may fail the query
            log.warning("query_cache_unwritable", error=type(error).__name__)
    return QueryEmbedding(vector, cached=False)


def _load_vector(key: str, model: EmbeddingModel) -> tuple[list[float] | None, bool]:
    """Return the cached vector if it is usable, and whether the cache responds."""
    try:
        packed = cache.get(key)
    except Exception as error:  # noqa: BLE001 - as above
        log.warning("query_cache_unreadable", error=type(error).__name__)
        QUERY_CACHE.labels("down").inc()
        return None, False
    vector = None
    if packed is not None:
        with suppress(Unusable):  # written by other code: a miss
            vector = parse_vector(packed, dimensions=model.dimensions)
    QUERY_CACHE.labels("hit" if vector else "miss").inc()
    return vector, True
