"""Which embedding model answers, without asking the database each time."""

from time import monotonic

from kmapp.providers.models import EmbeddingModel

REMEMBERED_SECONDS = 5.0
_known: tuple[float, EmbeddingModel] | None = None


def active_model() -> EmbeddingModel:
    """The model that answers searches. A switch is noticed within seconds."""
    global _known  # noqa: PLW0603 - one small memory for the process
    now = monotonic()
    if _known is None or now - _known[0] > REMEMBERED_SECONDS:
        _known = (now, EmbeddingModel.objects.get(state=EmbeddingModel.State.ACTIVE))
    return _known[1]
