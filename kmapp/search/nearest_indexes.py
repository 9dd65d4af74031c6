"""HNSW indexes of vectors, in which nearest neighbours are searched.

Each model has an index of the first collection of each source; vectors of other collections are
looked up by object. The owner role creates indexes, because they are schema.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.db import connections
from django.db.backends.utils import CursorWrapper

from kmapp.providers.embedding_model_lifecycle import OWNER
from kmapp.providers.models import EmbeddingModel
from kmapp.search.embedding_sources import list_sources


@dataclass(frozen=True, slots=True)
class NearestIndex:
    model: EmbeddingModel
    collection: str

    @property
    def name(self) -> str:
        return f"vectors_nearest_{self.model.pk}_{self.collection.replace('.', '_')}"

    def create(self) -> None:
        with _without_lock_timeout() as cursor:
            # An interrupted build leaves an invalid index with this name.
            cursor.execute(
                "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)", [self.name]
            )
            if cursor.fetchone() == (False,):
                self.drop()
            cursor.execute(
                f"CREATE INDEX CONCURRENTLY IF NOT EXISTS {self.name} ON search_vector "
                f"USING hnsw ((embedding::halfvec({self.model.dimensions:d})) halfvec_cosine_ops) "
                f"WHERE model_id = {self.model.pk:d} AND collection = '{self.collection}'"
            )

    def drop(self) -> None:
        with _without_lock_timeout() as cursor:
            cursor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {self.name}")


@contextmanager
def _without_lock_timeout() -> Iterator[CursorWrapper]:
    """Run CONCURRENTLY statements, which wait for older transactions and block nothing."""
    with connections[OWNER].cursor() as cursor:
        cursor.execute("SET lock_timeout = 0")
        try:
            yield cursor
        finally:
            cursor.execute("RESET lock_timeout")


def list_indexes(model: EmbeddingModel) -> list[NearestIndex]:
    return [NearestIndex(model, source.collections[0]) for source in list_sources()]


def create_indexes(model: EmbeddingModel) -> None:
    for index in list_indexes(model):
        index.create()


def drop_indexes(model: EmbeddingModel) -> None:
    for index in list_indexes(model):
        index.drop()
