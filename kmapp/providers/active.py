"""Which embedding models are in use, without asking the database each time."""

from time import monotonic

from kmapp.providers.models import EmbeddingModel

REMEMBERED_SECONDS = 5.0
_known: tuple[float, list[EmbeddingModel]] | None = None


def active_model() -> EmbeddingModel:
    """The model that answers searches. A switch is noticed within seconds."""
    return models_in_use()[0]


def models_in_use() -> list[EmbeddingModel]:
    """The active model first, then those being filled: what is written gets vectors of each."""
    global _known  # noqa: PLW0603 - one small memory for the process
    now = monotonic()
    if _known is None or now - _known[0] > REMEMBERED_SECONDS:
        State = EmbeddingModel.State  # noqa: N806 - a class
        rows = EmbeddingModel.objects.exclude(state=State.RETIRED).order_by("pk")
        found = sorted(rows, key=lambda model: model.state != State.ACTIVE)
        if not found or found[0].state != State.ACTIVE:
            raise EmbeddingModel.DoesNotExist("No embedding model is active.")
        _known = (now, found)
    return _known[1]


def forget_models() -> None:
    """Look again: this process has just changed them."""
    global _known  # noqa: PLW0603 - as above
    _known = None
