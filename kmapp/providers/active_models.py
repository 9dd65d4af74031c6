"""The embedding models in use, cached in the process."""

from kmapp.providers.models import EmbeddingModel
from kmapp.runtime.in_process_caches import TtlCache

CACHE_SECONDS = 5.0
_cache: TtlCache[list[EmbeddingModel]] = TtlCache(max_entries=1)


def active_model() -> EmbeddingModel:
    """Return the model that answers searches. A switch takes effect within seconds."""
    return models_in_use()[0]


def models_in_use() -> list[EmbeddingModel]:
    """Return the active model, then models being built, which get vectors of new texts too."""
    models = _cache.get("models")
    if models is None:
        State = EmbeddingModel.State  # noqa: N806 - a class
        rows = EmbeddingModel.objects.exclude(state=State.RETIRED).order_by("pk")
        models = sorted(rows, key=lambda model: model.state != State.ACTIVE)
        if not models or models[0].state != State.ACTIVE:
            raise EmbeddingModel.DoesNotExist("No embedding model is active.")
        _cache.put("models", models, seconds=CACHE_SECONDS)
    return models


def clear_model_cache() -> None:
    """Clear the cache of this process, which has just changed the models."""
    _cache.clear()
