"""Writing what search reads: postings in the transaction of the row, vectors when a worker gets to it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import connection
from django.db.models.functions import Now

from kmapp.ids import uuid7
from kmapp.search.models import TermPosting, Vector
from kmapp.text import terms

DOCUMENT = ""  # the term whose posting stands for the document itself
MOST = 32_000  # of one term in one document: the column is a smallint


def index_terms(account_id: UUID, collection: str, texts: Mapping[UUID, str]) -> None:
    """Make texts findable by their words. What they held before is replaced."""
    words, documents, frequencies, lengths = [], [], [], []
    for document, text in texts.items():
        found = Counter(terms(text))
        length = found.total()
        for term, frequency in ((DOCUMENT, length), *found.items()):
            words.append(term)
            documents.append(document)
            frequencies.append(min(frequency, MOST))
            lengths.append(length)
    unindex_terms(account_id, collection, list(texts))
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO search_termposting (account_id, collection, term, document, tf, dl) "
            "SELECT %s, %s, * FROM unnest(%s::text[], %s::uuid[], %s::int[], %s::int[])",
            [account_id, collection, words, documents, frequencies, lengths],
        )


def unindex_terms(account_id: UUID, collection: str, documents: Sequence[UUID]) -> None:
    """Forget the words of documents."""
    if documents:
        TermPosting.objects.of(account_id).filter(
            collection=collection, document__in=documents
        ).delete()


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One text to embed: a part of an object."""

    object_id: UUID
    part: int
    text_sha256: str


def await_vectors(
    account_id: UUID, collection: str, model_id: int, parts: Sequence[Part]
) -> None:
    """Say that these parts wait for a vector of this model. Parts that the object no longer has are dropped."""
    objects = {part.object_id for part in parts}
    Vector.objects.of(account_id).filter(
        collection=collection, model_id=model_id, object_id__in=objects
    ).delete()
    Vector.objects.bulk_create(
        [
            Vector(
                id=uuid7(),
                account_id=account_id,
                collection=collection,
                object_id=part.object_id,
                part=part.part,
                model_id=model_id,
                text_sha256=part.text_sha256,
            )
            for part in parts
        ],
        batch_size=1000,
    )


def store_vector(
    account_id: UUID, collection: str, model_id: int, part: Part, embedding: Sequence[float]
) -> bool:
    """Keep a vector, if the text it was made from is still the text. Returns whether it was."""
    return bool(
        Vector.objects.of(account_id)
        .filter(
            collection=collection,
            model_id=model_id,
            object_id=part.object_id,
            part=part.part,
            text_sha256=part.text_sha256,
        )
        .update(
            embedding=list(embedding), state=Vector.State.READY, error="", ready_at=Now()
        )
    )


def fail_vector(
    account_id: UUID, collection: str, model_id: int, part: Part, error: str
) -> None:
    """Say why a part has no vector. It stays findable by its words."""
    Vector.objects.of(account_id).filter(
        collection=collection,
        model_id=model_id,
        object_id=part.object_id,
        part=part.part,
        text_sha256=part.text_sha256,
    ).update(state=Vector.State.FAILED, error=error[:200], embedding=None, ready_at=None)


def drop_vectors(account_id: UUID, collections: Sequence[str], objects: Sequence[UUID]) -> None:
    Vector.objects.of(account_id).filter(
        collection__in=collections, object_id__in=objects
    ).delete()


def reset_vectors(account_id: UUID, collections: Sequence[str], objects: Sequence[UUID]) -> None:
    """Ask for vectors to be made anew."""
    Vector.objects.of(account_id).filter(
        collection__in=collections, object_id__in=objects
    ).update(state=Vector.State.PENDING, error="")
