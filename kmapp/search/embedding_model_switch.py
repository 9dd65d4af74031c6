"""Change of the embedding model without downtime: backfill, compare, switch.

During the backfill, the active model answers; new texts get vectors of both models.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.conf import settings
from django.db.models import Count, Exists, OuterRef, Q

from kmapp.accounts.acting import acting
from kmapp.accounts.models import account_ids
from kmapp.database.raw_sql import fetch_all
from kmapp.errors import Conflict
from kmapp.outbox.registry import compute_retry_delay
from kmapp.providers import embedding_model_lifecycle as models
from kmapp.providers.embedding_model_lifecycle import OWNER
from kmapp.providers.errors import ProviderError
from kmapp.providers.models import EmbeddingModel
from kmapp.search.embedding_sources import EmbeddingSource, list_sources
from kmapp.search.models import Vector
from kmapp.search.nearest_indexes import create_indexes, drop_indexes

BLOCK_OBJECTS = 64  # objects per query for missing vectors
DROP_BLOCK_ROWS = 5_000
READY, FAILED = str(Vector.State.READY), str(Vector.State.FAILED)
OF_ACTIVE_MODEL = Q(model__state=EmbeddingModel.State.ACTIVE)
ReportProgress = Callable[[int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """Number of texts that a model must have a vector of, and of those that lack it.

    These are the texts with a vector of the active model; for the active model, of any model.
    """

    texts: int
    missing: int

    @property
    def percent(self) -> float:
        return 100.0 if not self.texts else 100.0 * (self.texts - self.missing) / self.texts


_COVERAGE_SQL = """
SELECT count(*), count(*) FILTER (WHERE NOT EXISTS (
  SELECT FROM search_vector b WHERE b.account_id = a.account_id AND b.collection = a.collection
     AND b.object_id = a.object_id AND b.part = 0 AND b.model_id = %s AND b.state = 'READY'))
FROM (SELECT DISTINCT account_id, collection, object_id FROM search_vector
       WHERE collection = ANY (%s) AND model_id = ANY (%s) AND part = 0 AND state = 'READY') a
"""


def load_coverage(model: EmbeddingModel) -> Coverage:
    collections = [source.collections[0] for source in list_sources()]
    references = EmbeddingModel.objects.using(OWNER).all()
    if model.state != EmbeddingModel.State.ACTIVE:
        references = references.filter(state=EmbeddingModel.State.ACTIVE)
    parameters = [model.pk, collections, list(references.values_list("pk", flat=True))]
    [(texts, missing)] = fetch_all(_COVERAGE_SQL, parameters, using=OWNER)
    return Coverage(texts=texts, missing=missing)


def count_states(model: EmbeddingModel) -> dict[str, int]:
    rows = Vector.objects.using(OWNER).filter(model=model).values_list("state")
    return dict(rows.annotate(Count("pk")).order_by("state"))


def ensure_default_model() -> EmbeddingModel:
    """Return the active model; create the default model with its indexes if there is none."""
    active = models.get_or_create_default_model()
    create_indexes(active)
    return active


def add_model(model: EmbeddingModel) -> None:
    models.add_model(model)
    create_indexes(model)


def backfill_model(
    model: EmbeddingModel, report_progress: ReportProgress = lambda done: None
) -> int:
    """Embed all objects of the active model for this model. Return the number of failures.

    For the active model, these are the objects of all models: it may have been activated although
    vectors were missing. After an interruption it continues: objects with a vector are skipped.
    """
    if model.state == EmbeddingModel.State.RETIRED:
        models.rebuild_model(model)
        create_indexes(model)
    return sum(
        _backfill_account(model, source, account_id, report_progress)
        for account_id in account_ids()
        for source in list_sources()
    )


def _backfill_account(
    model: EmbeddingModel,
    source: EmbeddingSource,
    account_id: UUID,
    report_progress: ReportProgress,
) -> int:
    """Embed what is not READY, then repeatedly what was edited in the meantime."""
    failures: dict[UUID, Exception] = {}
    collection = source.collections[0]
    reference = Q() if model.state == EmbeddingModel.State.ACTIVE else OF_ACTIVE_MODEL

    def embed_missing(done_states: Sequence[str]) -> set[UUID]:
        seen: set[UUID] = set()
        after = UUID(int=0)
        while ids := _list_missing(account_id, collection, model, done_states, after, reference):
            failures.update(_embed_with_retries(source, model, account_id, ids))
            report_progress(len(ids))
            seen.update(ids)
            after = ids[-1]
        return seen

    embed_missing([READY])
    previous: set[UUID] = set()
    while (remaining := embed_missing([READY, FAILED])) != previous:
        previous = remaining
    return len(failures)


def _list_missing(
    account_id: UUID,
    collection: str,
    model: EmbeddingModel,
    done_states: Sequence[str],
    after: UUID,
    reference: Q,
) -> list[UUID]:
    """Return the next objects that have a vector of the reference and none of this model."""
    with acting(account_id):
        vectors = Vector.objects.of(account_id).filter(collection=collection, part=0)
        done = vectors.filter(object_id=OuterRef("object_id"), model=model, state__in=done_states)
        existing = vectors.filter(reference, object_id__gt=after)
        missing = existing.filter(~Exists(done)).order_by("object_id")
        return list(missing.values_list("object_id", flat=True).distinct()[:BLOCK_OBJECTS])


def _embed_with_retries(
    source: EmbeddingSource, model: EmbeddingModel, account_id: UUID, ids: Sequence[UUID]
) -> Mapping[UUID, Exception]:
    """Embed objects, with retries: a short outage of the provider must not end hours of work."""
    attempts = 0
    while True:
        try:
            return source.embed(model, account_id, ids)
        except ProviderError:
            attempts += 1
            delay = compute_retry_delay(attempts, max_attempts=settings.OUTBOX_MAX_ATTEMPTS)
            if delay is None:
                raise
            time.sleep(delay.total_seconds())


def activate_model(model: EmbeddingModel, *, allow_incomplete: bool = False) -> Coverage:
    """Let a model answer searches, if it has a vector of every text.

    With `allow_incomplete`, vectors may be missing; the returned coverage states how many.
    """
    former = list(EmbeddingModel.objects.filter(state=EmbeddingModel.State.ACTIVE))
    coverage = load_coverage(model)
    is_active = model.state == EmbeddingModel.State.ACTIVE  # refused below
    if coverage.missing and not allow_incomplete and not is_active:
        raise Conflict(
            f"{model} has no vector for {coverage.missing:,} of {coverage.texts:,} texts, which "
            "would be found by keyword only.",
            code="model_incomplete",
            details={"missing": coverage.missing, "texts": coverage.texts},
        )
    models.activate_model(model)
    if not coverage.missing:
        _embed_latest_texts(model, former)
    return coverage


def _embed_latest_texts(model: EmbeddingModel, former: Sequence[EmbeddingModel]) -> None:
    """Embed what jobs embedded for the former model only, while this one was activated.

    Jobs that end later embed for this model themselves.
    """
    reference, states = Q(model__in=former, state=READY), [*Vector.State.values]
    for account_id in account_ids():
        for source in list_sources():
            for collection in source.collections:
                after = UUID(int=0)
                while ids := _list_missing(account_id, collection, model, states, after, reference):
                    _embed_with_retries(source, model, account_id, ids)
                    after = ids[-1]


def drop_model(model: EmbeddingModel, report_progress: ReportProgress = lambda done: None) -> None:
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
        return rows.filter(pk__in=rows.values("pk")[:DROP_BLOCK_ROWS]).delete()[0]
