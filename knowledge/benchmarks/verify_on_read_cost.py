"""The cost of `verify_on_read` for document search, on synthetic documents with random vectors."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random
from unittest.mock import patch

import numpy as np
from django.db import connections
from numpy.typing import NDArray

from kmapp.accounts.acting import acting
from kmapp.accounts.actions import create_account
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account
from kmapp.management.verification_cost import HEADINGS, VerificationCost, set_verification
from kmapp.providers.active_models import active_model
from kmapp.providers.embedding import Kind, OpenAIEmbedder
from kmapp.providers.embedding_model_lifecycle import OWNER
from kmapp.search.posting_packing import pack_recent
from kmapp.search.query_vector import QueryVector
from kmapp.search.variants import DEFAULT_VARIANT
from knowledge.actions.embeddings import embed_chunks
from knowledge.actions.ingest import ingest_deliveries
from knowledge.actions.prepare_delivery import DeliveredFile, prepare_deliveries
from knowledge.actions.sources import NewSource, ensure_source
from knowledge.chunking.index_versions import collection_name
from knowledge.models import KnowledgeChunk
from knowledge.retrieval.search import KnowledgeSearch, search_with_vector

INDEX_VERSION = DEFAULT_VARIANT.index_version
SYLLABLES = [f"{onset}{vowel}" for onset in "bcdfghjklmnprstvwxyz" for vowel in "aeiou"]  # 100
VOCABULARY = 5_000
PARTS, PART_WORDS, QUERY_WORDS = 5, 120, 5
BATCH = 50  # documents of one commit
TABLES = (
    *("ledger_commit", "ledger_seal", "search_indexeddocument", "search_packedpostings"),
    *("search_vector", "knowledge_knowledgesource", "knowledge_knowledgedocument"),
    *("knowledge_knowledgetext", "knowledge_knowledgechunk"),
)


@dataclass
class Writer:
    """Generator of texts of invented words, of which some are more frequent, and of vectors."""

    dice: Random = field(default_factory=lambda: Random(7))  # noqa: S311 - no secrets
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(7))

    def words(self, number: int) -> str:
        ranks = (int(VOCABULARY * self.dice.random() ** 2) for _ in range(number))
        return " ".join(SYLLABLES[rank // 100] + SYLLABLES[rank % 100] for rank in ranks)

    def document(self, number: int) -> bytes:
        parts = [f"## Part {part}\n\n{self.words(PART_WORDS)}." for part in range(PARTS)]
        return "\n\n".join([f"# Document {number}", *parts]).encode()

    def vectors(self, number: int, dimensions: int) -> "NDArray[np.float64]":
        drawn = self.rng.standard_normal((number, dimensions))
        unit: NDArray[np.float64] = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
        return unit


def create_account_with_documents(number: int, writer: Writer) -> Account:
    """Create an account with `number` documents, whose chunks have random vectors."""

    def embed(self: OpenAIEmbedder, texts: Sequence[str], *, kind: Kind) -> list[list[float]]:
        vectors: list[list[float]] = writer.vectors(len(texts), self.model.dimensions).tolist()
        return vectors

    account = create_account(name="perf-knowledge")
    with acting(account):
        source = ensure_source(account.pk, SYSTEM, NewSource(name="synthetic"))
    for start in range(0, number, BATCH):
        places = range(start, min(number, start + BATCH))
        files = [DeliveredFile.of(f"{place}.md", writer.document(place)) for place in places]
        prepared = prepare_deliveries(source, files)
        with acting(account):
            result = ingest_deliveries(source, SYSTEM, prepared)
            rows = KnowledgeChunk.objects.of(account).of_index_version(INDEX_VERSION)
            rows = rows.filter(document__in=[document.pk for document in result.documents])
            ids = list(rows.values_list("pk", flat=True))
        with patch.object(OpenAIEmbedder, "embed", embed):
            embed_chunks(account.pk, INDEX_VERSION, ids)
    pack_recent(account.pk, collection_name(INDEX_VERSION))
    with connections[OWNER].cursor() as cursor:
        cursor.execute(f"VACUUM ANALYZE {', '.join(TABLES)}")
    return account


def count_chunks(account: Account) -> int:
    with acting(account):
        return KnowledgeChunk.objects.of(account).of_index_version(INDEX_VERSION).count()


def measure_verify_cost(account: Account, number: int, writer: Writer) -> VerificationCost:
    """Measure the cost with `number` queries."""
    cost, model = VerificationCost(), active_model()
    for _query in range(number):
        request = KnowledgeSearch(query=writer.words(QUERY_WORDS))
        [vector] = writer.vectors(1, model.dimensions).tolist()
        meaning = QueryVector.from_floats(model, vector)
        cost.measure_pairs(account, partial(search_with_vector, account.pk, request, meaning))
    set_verification(account, verified=False)
    return cost


def render_section(origin: str, chunks: int, cost: VerificationCost) -> str:
    """Render the row of the page of benchmarks; `origin` states where its figures come from."""
    lines = [
        "### Verification of documents",
        "",
        f"{origin} Milliseconds, p50 / p95.",
        "",
        "Searches of documents for 10 snippets, in the same pairs. Chunks are compared with the",
        "sealed texts of their documents, which are in the cache of the process.",
        "",
        *HEADINGS,
        cost.render_row(f"{chunks:,} chunks"),
    ]
    return "\n".join(lines) + "\n"
