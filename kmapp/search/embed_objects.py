"""Creation of vectors: read texts, embed outside transactions, store what is still current."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from secrets import choice
from typing import Protocol, Self
from uuid import UUID

from kmapp.accounts.acting import acting
from kmapp.outbox.registry import Job, JobErrors, RetryLater
from kmapp.providers.embedding import OpenAIEmbedder
from kmapp.providers.errors import BadVectors, Faulted, ProviderError
from kmapp.providers.models import EmbeddingModel
from kmapp.search.embedding_sources import EmbedObjects
from kmapp.search.vector_storage import (
    EmbeddedPart,
    TextPart,
    drop_vectors,
    find_vectors_of_equal_texts,
    store_vectors,
)

PROVIDER_PAUSE = 5  # seconds until an unavailable provider is retried


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    collection: str
    part: TextPart
    text: str

    @classmethod
    def of(cls, collection: str, object_id: UUID, number: int, text: str) -> Self:
        sha256 = hashlib.sha256(text.encode()).hexdigest()
        part = TextPart(object_id=object_id, part=number, text_sha256=sha256)
        return cls(collection=collection, part=part, text=text)


class Read(Protocol):
    """Return all texts to embed of some objects; with `lock`, lock their rows."""

    def __call__(self, *, lock: bool) -> Iterable[Text]: ...


def embed_for_all_models(
    account_id: UUID, collections: Sequence[str], ids: Sequence[UUID], embed: EmbedObjects
) -> dict[UUID, Exception]:
    """Embed objects for every model in use. Return the error of each object that failed.

    Raise the error of the first provider that failed, after the other models were tried: during a
    change of models, the provider may serve only one of them.
    """
    failed: dict[UUID, Exception] = {}
    outages: list[ProviderError] = []
    embedded: set[int] = set()
    retired = EmbeddingModel.State.RETIRED
    models = list(EmbeddingModel.objects.order_by("pk"))
    for model in models:
        if model.state == retired:
            # If the model is activated again, it must not have vectors of earlier texts.
            with acting(account_id):
                drop_vectors(account_id, collections, ids, model_id=model.pk)
    while pending := [each for each in models if each.state != retired and each.pk not in embedded]:
        for model in pending:
            embedded.add(model.pk)
            try:
                failed |= embed(model, account_id, ids)
            except ProviderError as error:
                outages.append(error)
        models = list(EmbeddingModel.objects.order_by("pk"))  # one may have been activated since
    if outages:
        raise outages[0]
    return failed


def embed_objects(
    model: EmbeddingModel,
    account_id: UUID,
    ids: Sequence[UUID],
    *,
    read: Read,
    context_collection: str = "",
) -> dict[UUID, Exception]:
    """Embed objects for one model. Return the objects whose texts have no vector, with the error.

    An object without a text in `context_collection` loses its vector there.
    """
    with acting(account_id):
        texts = list(read(lock=False))
        reusable = find_vectors_of_equal_texts(
            account_id, model.pk, (each.part.text_sha256 for each in texts)
        )
    missing = {
        each.part.text_sha256: each.text for each in texts if each.part.text_sha256 not in reusable
    }
    vectors, reasons = _embed_missing(model, missing)
    vectors |= reusable
    with acting(account_id):
        current_texts = list(read(lock=True))
        without_context = set(ids) - {
            each.part.object_id for each in current_texts if each.collection == context_collection
        }
        if context_collection and without_context:
            drop_vectors(account_id, [context_collection], list(without_context), model_id=model.pk)
        _store(model, account_id, current_texts, vectors, reasons)
    return {
        each.part.object_id: BadVectors({0: reasons[each.part.text_sha256]}, [None])
        for each in texts
        if each.part.text_sha256 in reasons
    }


def list_objects_of(jobs: Sequence[Job], name: str) -> list[UUID]:
    """Return the ids of the objects of jobs; `name` is their key in the payload."""
    return sorted({UUID(job.payload[name]) for job in jobs})


def embed_objects_of(
    jobs: Sequence[Job], name: str, embed: Callable[[UUID, Sequence[UUID]], dict[UUID, Exception]]
) -> dict[UUID, Exception]:
    """Embed the objects of jobs. An unavailable provider uses up no attempts."""
    ids = list_objects_of(jobs, name)
    try:
        return embed(jobs[0].account_id, ids)
    except ProviderError as error:
        if isinstance(error, Faulted) and _is_about_these(jobs, ids):
            raise  # these texts may be the cause: they fail permanently after some attempts
        raise RetryLater(error.code, seconds=PROVIDER_PAUSE, for_all=True) from error


def list_job_errors(jobs: Sequence[Job], name: str, failed: Mapping[UUID, Exception]) -> JobErrors:
    """Return the errors of objects by the jobs that embed them."""
    return {job.id: failed[pk] for job in jobs if (pk := UUID(job.payload[name])) in failed}


def _is_about_these(jobs: Sequence[Job], ids: Sequence[UUID]) -> bool:
    """Return whether texts of these objects may be why the provider fails, rather than an outage.

    That is assumed for a single object, and if each of the objects has failed before.
    """
    return len(ids) == 1 or all(job.attempt > 1 for job in jobs)


def _embed_missing(
    model: EmbeddingModel, missing: Mapping[str, str]
) -> tuple[dict[str, list[float]], dict[str, str]]:
    """Return vectors, and errors of texts without one, by the digest of the text.

    If the provider fails for all texts together, one of them is tried alone. If that fails too, its
    error is raised, as in an outage. The text is chosen at random, so that a text that always fails
    is not taken for an outage at each attempt.
    """
    shas, embedder = list(missing), OpenAIEmbedder.for_passages(model)
    try:
        return dict(zip(shas, embedder.embed([*missing.values()], kind="passage"), strict=True)), {}
    except BadVectors as bad:
        usable = {sha: v for sha, v in zip(shas, bad.vectors, strict=True) if v is not None}
        return usable, {shas[place]: reason for place, reason in bad.reasons.items()}
    except Faulted:
        if len(missing) == 1:
            raise
    probe = choice(shas)
    vectors, reasons = _embed_missing(model, {probe: missing[probe]})
    for sha in missing.keys() - {probe}:
        try:
            vector, reason = _embed_missing(model, {sha: missing[sha]})
        except Faulted as error:
            vector, reason = {}, {sha: str(error)}
        vectors |= vector
        reasons |= reason
    return vectors, reasons


def _store(
    model: EmbeddingModel,
    account_id: UUID,
    texts: Iterable[Text],
    vectors: Mapping[str, list[float]],
    reasons: Mapping[str, str],
) -> None:
    """Store the vectors of texts that have not changed; an edited text has its own job."""
    by_object: dict[tuple[str, UUID], list[Text]] = {}
    for each in texts:
        by_object.setdefault((each.collection, each.part.object_id), []).append(each)
    by_collection: dict[str, list[EmbeddedPart]] = {}
    for (collection, _), parts in by_object.items():
        shas = [each.part.text_sha256 for each in parts]
        if all(sha in vectors or sha in reasons for sha in shas):
            by_collection.setdefault(collection, []).extend(
                EmbeddedPart(part=each.part, embedding=vectors.get(sha), error=reasons.get(sha, ""))
                for each, sha in zip(parts, shas, strict=True)
            )
    for collection, embedded in by_collection.items():
        store_vectors(account_id, collection, model.pk, embedded)
