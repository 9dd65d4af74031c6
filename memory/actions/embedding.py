"""Giving memories their vectors. Nobody waits: a memory is found by its words meanwhile."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Value
from django.db.models.functions import Coalesce, Left, NullIf

from kmapp.accounts.acting import acting
from kmapp.providers.embedding import OpenAIEmbedder
from kmapp.providers.errors import BadVectors
from kmapp.providers.models import EmbeddingModel
from kmapp.search.actions import Made, Part, same_texts, store_vectors, withdraw_vectors
from kmapp.search.passages import Template, in_context, renderings
from kmapp.search.registry import embeds
from memory.models import EntryQuerySet, MemoryEntry
from memory.models.entries import COLLECTION, CONTEXT_COLLECTION
from memory.order import neighbours
from memory.texts import passage_of

EXAMPLE_LENGTH = 80  # characters


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """One text to embed, and what it is of."""

    collection: str
    part: Part
    text: str


def embed_entries(account_id: UUID, ids: Sequence[UUID]) -> dict[UUID, Exception]:
    """Embed entries for every model in use. Returns those whose texts got no vector, and why."""
    failed: dict[UUID, Exception] = {}
    for model in EmbeddingModel.objects.order_by("pk"):
        if model.state == EmbeddingModel.State.RETIRED:
            # Should it be used again, it shall not answer for texts that have changed since.
            with acting(account_id):
                withdraw_vectors(account_id, model.pk, (COLLECTION, CONTEXT_COLLECTION), ids)
        else:
            failed |= embed_for(model, account_id, ids)
    return failed


def _findable(account_id: UUID) -> EntryQuerySet:
    return MemoryEntry.objects.of(account_id).current()


def _examples(account_id: UUID, number: int) -> dict[UUID, str]:
    """Recent memories, each by its title or how it begins: a question that should find it."""
    rows = _findable(account_id).order_by("-created_at", "-pk")
    begins = Coalesce(NullIf("title", Value("")), Left("content", EXAMPLE_LENGTH))
    return dict(rows.values_list("pk", begins)[:number])


@embeds(COLLECTION, CONTEXT_COLLECTION, findable=_findable, examples=_examples)
def embed_for(
    model: EmbeddingModel, account_id: UUID, ids: Sequence[UUID]
) -> dict[UUID, Exception]:
    """Embed entries for one model: read, ask outside transactions, store what is still true."""
    with acting(account_id):
        texts = list(_texts(model, account_id, MemoryEntry.objects.of(account_id), ids))
        known = same_texts(account_id, model.pk, (each.part.text_sha256 for each in texts))
    wanted = {each.part.text_sha256: each.text for each in texts}
    missing = {sha: text for sha, text in wanted.items() if sha not in known}
    vectors, reasons = _ask(model, missing)
    vectors |= known
    with acting(account_id):
        _store(model, account_id, ids, vectors, reasons)
    return {
        each.part.object_id: BadVectors({0: reasons[each.part.text_sha256]}, [None])
        for each in texts
        if each.part.text_sha256 in reasons
    }


def _ask(
    model: EmbeddingModel, missing: Mapping[str, str]
) -> tuple[dict[str, list[float]], dict[str, str]]:
    """Vectors and reasons for having none, by the digest of the text."""
    shas = list(missing)
    try:
        made = OpenAIEmbedder.for_passages(model).embed(list(missing.values()), kind="passage")
    except BadVectors as bad:
        reasons = {shas[i]: reason for i, reason in bad.reasons.items()}
        usable = {sha: v for sha, v in zip(shas, bad.vectors, strict=True) if v is not None}
        return usable, reasons
    return dict(zip(shas, made, strict=True)), {}


def _store(
    model: EmbeddingModel,
    account_id: UUID,
    ids: Sequence[UUID],
    vectors: Mapping[str, list[float]],
    reasons: Mapping[str, str],
) -> None:
    """Keep what was made of texts that are still the texts; an edit has a job of its own."""
    held = MemoryEntry.objects.of(account_id).select_for_update(no_key=True)
    by_collection: dict[str, dict[UUID, list[Text]]] = {}
    for each in _texts(model, account_id, held, ids):
        by_collection.setdefault(each.collection, {}).setdefault(each.part.object_id, []).append(
            each
        )
    alone = set(ids) - by_collection.get(CONTEXT_COLLECTION, {}).keys()
    if alone:  # nothing comes before them, or they left their run
        withdraw_vectors(account_id, model.pk, [CONTEXT_COLLECTION], list(alone))
    for collection, objects in by_collection.items():
        made = [
            Made(
                part=each.part,
                embedding=vectors.get(each.part.text_sha256),
                error=reasons.get(each.part.text_sha256, ""),
            )
            for texts in objects.values()
            if all(t.part.text_sha256 in vectors or t.part.text_sha256 in reasons for t in texts)
            for each in texts
        ]
        store_vectors(account_id, collection, model.pk, made)


def _texts(
    model: EmbeddingModel, account_id: UUID, rows: EntryQuerySet, ids: Sequence[UUID]
) -> Iterator[Text]:
    """Every text that a model is given for these entries."""
    template = Template(model.passage_template)
    said_before = {row.pk: row.before for row in neighbours(account_id, ids)}
    for entry in rows.filter(pk__in=ids).order_by("pk"):
        passage = passage_of(entry)
        for number, text in enumerate(renderings(template, passage)):
            yield _text(COLLECTION, entry, number, text)
        if before := said_before.get(entry.pk):
            yield _text(CONTEXT_COLLECTION, entry, 0, in_context(template, passage, before))


def _text(collection: str, entry: MemoryEntry, number: int, text: str) -> Text:
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    return Text(
        collection=collection,
        part=Part(object_id=entry.pk, part=number, text_sha256=sha256),
        text=text,
    )
