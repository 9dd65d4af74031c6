"""Changes of embedding models, made by the owner role because indexes are schema."""

from django.conf import settings
from django.db import transaction

from kmapp.errors import Conflict, Invalid
from kmapp.providers.active_models import clear_model_cache
from kmapp.providers.embedding import OpenAIEmbedder
from kmapp.providers.models import EmbeddingModel

OWNER = "owner"
TEMPLATE = '[{date}] "{text}"'
# Range of multilingual-e5-small, measured on conversations and web passages.
E5_COSINES = {"cosine_low": 0.77, "cosine_high": 0.95}
MAX_DIMENSIONS = 4000  # of a half-precision vector in an HNSW index
State = EmbeddingModel.State


def get_or_create_default_model() -> EmbeddingModel:
    """Return the active model; create the configured one in a new deployment."""
    active = EmbeddingModel.objects.using(OWNER).filter(state=State.ACTIVE).first()
    if active is None:
        active = EmbeddingModel(
            name=settings.EMBEDDING_MODEL,
            dimensions=settings.EMBEDDING_DIMENSIONS,
            sends_input_type=settings.EMBEDDING_IS_EMBEDDED,
            passage_template=TEMPLATE,
            state=State.ACTIVE,
            **(E5_COSINES if settings.EMBEDDING_IS_EMBEDDED else {}),
        )
        active.save(using=OWNER)
        clear_model_cache()
    return active


def add_model(model: EmbeddingModel) -> None:
    """Add a model in addition to the active one: new texts get vectors of both.

    It must embed one text first, so that a wrong name or size is an error before anything exists.
    """
    if not 1 <= model.dimensions <= MAX_DIMENSIONS:
        raise Invalid(f"An index supports vectors of 1 to {MAX_DIMENSIONS} dimensions.")
    OpenAIEmbedder.for_passages(model).embed(["One text, to see what comes back."], kind="passage")
    model.state = State.BUILDING
    model.save(using=OWNER)
    clear_model_cache()


def activate_model(model: EmbeddingModel) -> None:
    """Let a model answer searches and retire the previous one, which keeps its vectors."""
    if model.state == State.ACTIVE:
        raise Conflict(f"{model} is active already.")
    with transaction.atomic(using=OWNER):
        models = EmbeddingModel.objects.using(OWNER)
        models.filter(state=State.ACTIVE).update(state=State.RETIRED)
        _change_state(model, State.ACTIVE)
    clear_model_cache()  # again after the commit, because another thread may have read in between


def rebuild_model(model: EmbeddingModel) -> None:
    """Fill a retired model again: new texts get its vectors too."""
    _change_state(model, State.BUILDING)


def retire_model(model: EmbeddingModel) -> None:
    if model.state == State.ACTIVE:
        raise Conflict(f"{model} answers searches: activate another model first.")
    _change_state(model, State.RETIRED)


def delete_model(model: EmbeddingModel) -> None:
    """Remove a retired model that has no vectors left."""
    EmbeddingModel.objects.using(OWNER).filter(pk=model.pk, state=State.RETIRED).delete()
    clear_model_cache()


def _change_state(model: EmbeddingModel, to: str) -> None:
    """Change the state, unless it was changed in the meantime."""
    rows = EmbeddingModel.objects.using(OWNER).filter(pk=model.pk, state=model.state)
    if not rows.update(state=to):
        raise Conflict(f"Someone else changed {model}. Check it and try again.")
    model.state = to
    clear_model_cache()
