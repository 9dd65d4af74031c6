"""Changing which embedding models there are. The owner role does this: indexes are schema."""

from django.conf import settings
from django.db import connections, transaction

from kmapp.errors import Conflict, Invalid
from kmapp.providers.active import forget_models
from kmapp.providers.embedding import OpenAIEmbedder
from kmapp.providers.models import EmbeddingModel

OWNER = "owner"
TEMPLATE = '[{date}] "{text}"'
# multilingual-e5-small hardly ever leaves this range, measured on conversations and web passages.
E5_COSINES = {"cosine_low": 0.77, "cosine_high": 0.95}
MOST_DIMENSIONS = 4000  # of a half-precision vector in an HNSW index
State = EmbeddingModel.State


def ensure_default_model() -> EmbeddingModel:
    """The model that the settings name, made and active if there is none yet, with its index."""
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
        forget_models()
    make_index(active)
    return active


def add_model(model: EmbeddingModel) -> None:
    """Take a model into use beside the active one: what is written now gets its vectors too.

    It is asked for one vector first, so that a wrong name or size is known before anything exists.
    """
    if not 1 <= model.dimensions <= MOST_DIMENSIONS:
        raise Invalid(f"An index holds vectors of 1 to {MOST_DIMENSIONS} dimensions.")
    OpenAIEmbedder.for_passages(model).embed(["One text, to see what comes back."], kind="passage")
    model.state = State.BUILDING
    model.save(using=OWNER)
    make_index(model)
    forget_models()


def make_index(model: EmbeddingModel) -> None:
    """Build the partial HNSW index over a model's vectors, without blocking writers."""
    with connections[OWNER].cursor() as cursor:
        # A build that was interrupted leaves an index that nobody may read, under the same name.
        cursor.execute(
            "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)", [model.index_name]
        )
        if cursor.fetchone() == (False,):
            drop_index(model)
        cursor.execute(
            f"CREATE INDEX CONCURRENTLY IF NOT EXISTS {model.index_name} ON search_vector "
            f"USING hnsw ((embedding::halfvec({model.dimensions:d})) halfvec_cosine_ops) "
            f"WHERE model_id = {model.pk:d}"
        )


def drop_index(model: EmbeddingModel) -> None:
    with connections[OWNER].cursor() as cursor:
        cursor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {model.index_name}")


def activate(model: EmbeddingModel) -> None:
    """Let a model answer from now on; the one before is retired, its vectors stay until dropped."""
    if model.state == State.ACTIVE:
        raise Conflict(f"{model} is active already.")
    models = EmbeddingModel.objects.using(OWNER)
    with transaction.atomic(using=OWNER):
        models.filter(state=State.ACTIVE).update(state=State.RETIRED)
        _move(model, State.ACTIVE)
    forget_models()


def build_again(model: EmbeddingModel) -> None:
    """Take a retired model into use again: what is written from now on gets its vectors too."""
    _move(model, State.BUILDING)
    make_index(model)
    forget_models()


def retire(model: EmbeddingModel) -> None:
    """Give up filling a model."""
    if model.state == State.ACTIVE:
        raise Conflict(f"{model} answers searches: activate another model first.")
    _move(model, State.RETIRED)
    forget_models()


def forget(model: EmbeddingModel) -> None:
    """Remove a retired model that has no vectors left."""
    drop_index(model)
    EmbeddingModel.objects.using(OWNER).filter(pk=model.pk, state=State.RETIRED).delete()
    forget_models()


def _move(model: EmbeddingModel, to: str) -> None:
    """Change the state that we saw, or nothing."""
    rows = EmbeddingModel.objects.using(OWNER).filter(pk=model.pk, state=model.state)
    if not rows.update(state=to):
        raise Conflict(f"Somebody changed {model} first: look again.")
    model.state = to
