"""Change of the embedding model without downtime: backfill, compare, switch.

During the backfill, the active model answers; new texts get vectors of both models.

Each model has an HNSW index of the first collection of each source, in which nearest neighbours are
searched; vectors of other collections are looked up by object. The owner role creates indexes,
because they are schema.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import UUID

from django.conf import settings
from django.db import connections
from django.db.backends.utils import CursorWrapper
from django.db.models import Count, Exists, OuterRef

from kmapp.accounts.acting import acting
from kmapp.accounts.models import account_ids
from kmapp.errors import Conflict
from kmapp.outbox.registry import delay_after
from kmapp.providers import actions as models
from kmapp.providers.actions import OWNER
from kmapp.providers.errors import ProviderError
from kmapp.providers.models import EmbeddingModel
from kmapp.search.models import Vector
from kmapp.search.registry import Source, sources

BLOCK = 64  # objects per query for missing vectors
DROP_BLOCK = 5_000
READY, FAILED = str(Vector.State.READY), str(Vector.State.FAILED)
ReportProgress = Callable[[int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """The texts with a vector of the active model, and how many have none of another."""

    texts: int
    missing: int

    @property
    def percent(self) -> float:
        return 100.0 if not self.texts else 100.0 * (self.texts - self.missing) / self.texts


_COVERAGE = """
SELECT count(*), count(*) FILTER (WHERE NOT EXISTS (
  SELECT FROM search_vector b WHERE b.account_id = a.account_id AND b.collection = a.collection
     AND b.object_id = a.object_id AND b.part = 0 AND b.model_id = %s AND b.state = 'READY'))
FROM search_vector a
WHERE a.collection = ANY (%s)
  AND a.model_id = (SELECT id FROM providers_embeddingmodel WHERE state = 'active')
  AND a.part = 0 AND a.state = 'READY'
"""


def coverage(model: EmbeddingModel) -> Coverage:
    with connections[OWNER].cursor() as cursor:
        cursor.execute(_COVERAGE, [model.pk, [source.collections[0] for source in sources()]])
        texts, missing = cursor.fetchone()
    return Coverage(texts=texts, missing=missing)


def states(model: EmbeddingModel) -> dict[str, int]:
    rows = Vector.objects.using(OWNER).filter(model=model).values_list("state")
    return dict(rows.annotate(Count("pk")).order_by("state"))


def ensure_default_model() -> EmbeddingModel:
    """Return the active model; create the default model with its indexes if there is none."""
    active = models.get_or_create_default_model()
    make_indexes(active)
    return active


def add(model: EmbeddingModel) -> None:
    models.add_model(model)
    make_indexes(model)


def backfill(model: EmbeddingModel, report_progress: ReportProgress = lambda done: None) -> int:
    """Embed all objects of the active model for this model. Return the number of failures.

    After an interruption it continues: objects with a vector are skipped.
    """
    if model.state == EmbeddingModel.State.ACTIVE:
        raise Conflict(f"{model} is active: texts are embedded with it when they are written.")
    if model.state == EmbeddingModel.State.RETIRED:
        models.rebuild_model(model)
        make_indexes(model)
    return sum(
        _backfill(model, source, account_id, report_progress)
        for account_id in account_ids()
        for source in sources()
    )


def _backfill(
    model: EmbeddingModel, source: Source, account_id: UUID, report_progress: ReportProgress
) -> int:
    """Embed what is not READY, then repeatedly what was edited in the meantime."""
    failures: dict[UUID, Exception] = {}

    def once(done_states: Sequence[str]) -> set[UUID]:
        seen: set[UUID] = set()
        after = UUID(int=0)
        while ids := _missing(account_id, source.collections[0], model, done_states, after):
            failures.update(_embed_with_retries(source, model, account_id, ids))
            report_progress(len(ids))
            seen.update(ids)
            after = ids[-1]
        return seen

    once([READY])
    left: set[UUID] = set()
    while (remaining := once([READY, FAILED])) != left:
        left = remaining
    return len(failures)


def _missing(
    account_id: UUID,
    collection: str,
    model: EmbeddingModel,
    done_states: Sequence[str],
    after: UUID,
) -> list[UUID]:
    """Return the next objects that have a vector of the active model and none of this one."""
    with acting(account_id):
        vectors = Vector.objects.of(account_id).filter(collection=collection, part=0)
        done = vectors.filter(object_id=OuterRef("object_id"), model=model, state__in=done_states)
        active_vectors = vectors.filter(
            model__state=EmbeddingModel.State.ACTIVE, object_id__gt=after
        )
        missing = active_vectors.filter(~Exists(done)).order_by("object_id")
        return list(missing.values_list("object_id", flat=True)[:BLOCK])


def _embed_with_retries(
    source: Source, model: EmbeddingModel, account_id: UUID, ids: Sequence[UUID]
) -> Mapping[UUID, Exception]:
    """Embed; a short outage of the provider does not end hours of work."""
    attempts = 0
    while True:
        try:
            return source.embed(model, account_id, ids)
        except ProviderError:
            attempts += 1
            delay = delay_after(attempts, most=settings.OUTBOX_MAX_ATTEMPTS)
            if delay is None:
                raise
            time.sleep(delay.total_seconds())


def activate(model: EmbeddingModel, *, although_incomplete: bool = False) -> None:
    """Let a model answer searches, if it has a vector of every text."""
    covered = coverage(model)
    if covered.missing and not although_incomplete:
        raise Conflict(
            f"{model} has no vector for {covered.missing:,} of {covered.texts:,} texts, which "
            "would be found by keyword only.",
            code="model_incomplete",
            details={"missing": covered.missing, "texts": covered.texts},
        )
    models.activate_model(model)


def drop(model: EmbeddingModel, report_progress: ReportProgress = lambda done: None) -> None:
    if model.state != EmbeddingModel.State.RETIRED:
        raise Conflict(f"{model} is {model.get_state_display()}: only a retired model is dropped.")
    drop_indexes(model)
    for account_id in account_ids():
        while deleted := _drop_block(account_id, model):
            report_progress(deleted)
    models.delete_model(model)


def _drop_block(account_id: UUID, model: EmbeddingModel) -> int:
    with acting(account_id):
        rows = Vector.objects.of(account_id).filter(model=model)
        return rows.filter(pk__in=rows.values("pk")[:DROP_BLOCK]).delete()[0]


@dataclass(frozen=True, slots=True)
class NearestIndex:
    model: EmbeddingModel
    collection: str

    @property
    def name(self) -> str:
        return f"vectors_nearest_{self.model.pk}_{self.collection.replace('.', '_')}"

    def make(self) -> None:
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


def indexes_of(model: EmbeddingModel) -> list[NearestIndex]:
    return [NearestIndex(model, source.collections[0]) for source in sources()]


def make_indexes(model: EmbeddingModel) -> None:
    for index in indexes_of(model):
        index.make()


def drop_indexes(model: EmbeddingModel) -> None:
    for index in indexes_of(model):
        index.drop()
