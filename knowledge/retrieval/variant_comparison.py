"""Comparison of the results of a query under two variants."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import monotonic
from uuid import UUID

from kmapp.search.variants import Variant
from knowledge.models import KnowledgeChunk, KnowledgeDocument
from knowledge.retrieval.search import KnowledgeSearch, search

MAX_RANK = 5  # documents of each answer
MAX_SNIPPETS = 20  # some are of the same document


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedDocument:
    """Rank of a document in an answer, with its best chunk."""

    rank: int
    chunk: KnowledgeChunk
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RankChange:
    """A document in one answer, in the other, or in both."""

    document: KnowledgeDocument
    left: RankedDocument | None
    right: RankedDocument | None

    @property
    def ranks_up(self) -> int:
        """Return by how many ranks the document is higher on the right; negative if lower."""
        return self.left.rank - self.right.rank if self.left and self.right else 0

    @property
    def ranks_down(self) -> int:
        return -self.ranks_up


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantAnswer:
    variant: Variant
    by_document: Mapping[UUID, RankedDocument]
    milliseconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantComparison:
    left: VariantAnswer
    right: VariantAnswer
    changes: Sequence[RankChange]

    @property
    def changed_count(self) -> int:
        """Return the number of documents whose rank differs."""
        return sum(not (each.left and each.right) or each.ranks_up != 0 for each in self.changes)


def compare_variants(
    account_id: UUID, text: str, left: Variant, right: Variant
) -> VariantComparison:
    """Search with both variants. Opens `acting` itself and calls models outside it."""
    before, after = (_search_variant(account_id, text, variant) for variant in (left, right))
    documents = {
        pk: place.chunk.document
        for each in (after, before)
        for pk, place in each.by_document.items()
    }
    return VariantComparison(
        left=before,
        right=after,
        changes=[
            RankChange(
                document=document, left=before.by_document.get(pk), right=after.by_document.get(pk)
            )
            for pk, document in documents.items()
        ],
    )


def _search_variant(account_id: UUID, text: str, variant: Variant) -> VariantAnswer:
    started = monotonic()
    snippets = search(
        account_id, KnowledgeSearch(query=text, limit=MAX_SNIPPETS, variant=variant)
    ).snippets
    milliseconds = (monotonic() - started) * 1000
    places: dict[UUID, RankedDocument] = {}
    for snippet in snippets:
        chunk = snippet.chunks[0]
        if chunk.document_id not in places and len(places) < MAX_RANK:
            rank = len(places) + 1
            places[chunk.document_id] = RankedDocument(rank=rank, chunk=chunk, score=snippet.score)
    return VariantAnswer(variant=variant, by_document=places, milliseconds=milliseconds)
