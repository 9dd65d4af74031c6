"""Changing which embedding model answers. The owner role does this: indexes are schema."""

from django.conf import settings
from django.db import connections, transaction

from kmapp.errors import Conflict
from kmapp.providers.models import EmbeddingModel

OWNER = "owner"
TEMPLATE = '[{date}] "{text}"'


def ensure_default_model() -> EmbeddingModel:
    """The model that the settings name, made and active if there is none yet, with its index."""
    active = EmbeddingModel.objects.using(OWNER).filter(state=EmbeddingModel.State.ACTIVE).first()
    if active is None:
        active = EmbeddingModel(
            name=settings.EMBEDDING_MODEL,
            dimensions=settings.EMBEDDING_DIMENSIONS,
            sends_input_type=settings.EMBEDDING_IS_EMBEDDED,
            passage_template=TEMPLATE,
            state=EmbeddingModel.State.ACTIVE,
        )
        active.save(using=OWNER)
    make_index(active)
    return active


def make_index(model: EmbeddingModel) -> None:
    """Build the partial HNSW index over a model's vectors, without blocking writers."""
    with connections[OWNER].cursor() as cursor:
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
    if model.state == EmbeddingModel.State.ACTIVE:
        raise Conflict(f"{model} is active already.")
    models = EmbeddingModel.objects.using(OWNER)
    with transaction.atomic(using=OWNER):
        models.filter(state=EmbeddingModel.State.ACTIVE).update(state=EmbeddingModel.State.RETIRED)
        changed = models.filter(pk=model.pk, state=model.state).update(
            state=EmbeddingModel.State.ACTIVE
        )
        if not changed:
            raise Conflict(f"Somebody changed {model} first: look again.")
