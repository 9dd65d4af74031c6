"""The other stores: their pinned packages, and the calls that are measured."""

from dataclasses import dataclass
from pathlib import Path

DRIVERS = Path(__file__).with_name("drivers")


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    name: str
    packages: tuple[str, ...]  # the first is the store
    write: str
    batch: str  # "" if it has none
    search: str
    settings: str

    @property
    def driver(self) -> Path:
        return DRIVERS / f"{self.name}_driver.py"


PEERS = (
    Peer(
        name="mem0",
        packages=("mem0ai==2.2.1", "psycopg[binary,pool]==3.3.9"),
        write="`Memory.add(text, user_id=…, infer=False)`",
        batch="",
        search="`Memory.search(query, filters={'user_id': …}, top_k=10)`",
        settings="pgvector with its HNSW index; no chat model; without spaCy, whose model is not on"
        " PyPI, so words are compared as they are",
    ),
    Peer(
        name="langgraph",
        packages=("langgraph-checkpoint-postgres==3.2.0", "psycopg[binary,pool]==3.3.9"),
        write="`PostgresStore.put((user,), id, {…})`",
        batch="`PostgresStore.batch([PutOp(…), …])`",
        search="`PostgresStore.search((user,), query=…, limit=10)`",
        settings="`index={'dims': 384, 'fields': ['text']}`, its HNSW index, one connection",
    ),
    Peer(
        name="txtai",
        packages=(
            "txtai-minimal==9.14.0",
            *("numpy==2.4.6", "pgvector==0.5.1", "sqlalchemy==2.1.9"),
            *("psycopg2-binary==2.9.13", "msgpack==1.2.4", "pyyaml==6.0.4", "regex==2026.11.19"),
        ),
        write="`Embeddings.upsert([…])` and `save()`, which commits",
        batch="the same with all texts",
        search="`SELECT id FROM txtai WHERE similar(:q) AND user = :user LIMIT 10`",
        settings="`backend: pgvector`, `content` in PostgreSQL",
    ),
    Peer(
        name="chroma",
        packages=("chromadb==1.5.9",),
        write="`collection.add(ids=[…], documents=[…], metadatas=[…])`",
        batch="the same with all texts",
        search="`collection.query(query_texts=[…], n_results=10, where={'user': …})`",
        settings="`PersistentClient` in a folder, without PostgreSQL; HNSW by cosine",
    ),
)
