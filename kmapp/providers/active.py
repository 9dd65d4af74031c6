"""The embedding models in use, cached in the process."""

from time import monotonic

from kmapp.providers.models import EmbeddingModel

CACHE_SECONDS = 5.0
_cached: tuple[float, list[EmbeddingModel]] | None = None


def active_model() -> EmbeddingModel:
    """Return the model that answers searches. A switch takes effect within seconds."""
    return models_in_use()[0]


def models_in_use() -> list[EmbeddingModel]:
    """Return the active model, then models being built, which get vectors of new texts too."""
    global _cached  # noqa: PLW0603 - a cache of the process
    now = monotonic()
    if _cached is None or now - _cached[0] > CACHE_SECONDS:
        State = EmbeddingModel.State  # noqa: N806 - a class
        rows = EmbeddingModel.objects.exclude(state=State.RETIRED).order_by("pk")
        models = sorted(rows, key=lambda model: model.state != State.ACTIVE)
        if not models or models[0].state != State.ACTIVE:
            raise EmbeddingModel.DoesNotExist("No embedding model is active.")
        _cached = (now, models)
    return _cached[1]


def clear_model_cache() -> None:
    """Clear the cache of this process, which has just changed the models."""
    global _cached  # noqa: PLW0603 - as above
    _cached = None
