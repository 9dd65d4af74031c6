"""Creation of vectors: read texts, embed outside transactions, store what is current."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, Self
from uuid import UUID

from kmapp.accounts.acting import acting
from kmapp.providers.embedding import OpenAIEmbedder
from kmapp.providers.errors import BadVectors
from kmapp.providers.models import EmbeddingModel
from kmapp.search.actions import EmbeddedPart, Part, same_texts, store_vectors, withdraw_vectors


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """One text to embed, and what it is of."""

    collection: str
    part: Part
    text: str

    @classmethod
    def of(cls, collection: str, object_id: UUID, number: int, text: str) -> Self:
        sha256 = hashlib.sha256(text.encode()).hexdigest()
        part = Part(object_id=object_id, part=number, text_sha256=sha256)
        return cls(collection=collection, part=part, text=text)


class Read(Protocol):
    """Every text that a model is given for some objects; with `hold`, their rows are locked."""

    def __call__(self, *, hold: bool) -> Iterable[Text]: ...


def embed_objects(
    model: EmbeddingModel,
    account_id: UUID,
    ids: Sequence[UUID],
    *,
    read: Read,
    context_collection: str = "",
) -> dict[UUID, Exception]:
    """Embed objects for one model. Returns those whose texts got no vector, and why.

    Not every object has a text in the collection `beside`; one that has none loses its vector.
    """
    with acting(account_id):
        texts = list(read(hold=False))
        reusable = same_texts(account_id, model.pk, (each.part.text_sha256 for each in texts))
    texts_by_digest = {each.part.text_sha256: each.text for each in texts}
    vectors, reasons = _embed_missing(
        model, {sha: text for sha, text in texts_by_digest.items() if sha not in reusable}
    )
    vectors |= reusable
    with acting(account_id):
        still = list(read(hold=True))
        alone = set(ids) - {
            each.part.object_id for each in still if each.collection == context_collection
        }
        if context_collection and alone:
            withdraw_vectors(account_id, model.pk, [context_collection], list(alone))
        _store(model, account_id, still, vectors, reasons)
    return {
        each.part.object_id: BadVectors({0: reasons[each.part.text_sha256]}, [None])
        for each in texts
        if each.part.text_sha256 in reasons
    }


def _embed_missing(
    model: EmbeddingModel, missing: Mapping[str, str]
) -> tuple[dict[str, list[float]], dict[str, str]]:
    """Vectors and reasons for having none, by the digest of the text."""
    shas = list(missing)
    try:
        embedded = OpenAIEmbedder.for_passages(model).embed(list(missing.values()), kind="passage")
    except BadVectors as bad:
        reasons = {shas[i]: reason for i, reason in bad.reasons.items()}
        usable = {sha: v for sha, v in zip(shas, bad.vectors, strict=True) if v is not None}
        return usable, reasons
    return dict(zip(shas, embedded, strict=True)), {}


def _store(
    model: EmbeddingModel,
    account_id: UUID,
    texts: Iterable[Text],
    vectors: Mapping[str, list[float]],
    reasons: Mapping[str, str],
) -> None:
    """Keep what was made of texts that are still the texts; an edit has a job of its own."""
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
