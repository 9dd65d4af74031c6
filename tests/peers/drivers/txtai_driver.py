"""txtai with its index and its content in PostgreSQL."""

import numpy as np
from loop import Embedder, serve
from txtai.embeddings import Embeddings


class Store:
    def __init__(self, options):
        self.passages = Embedder(options["passages"], "passage")
        self.queries = Embedder(options["queries"], "query")
        self.current = self.passages
        url = options["database"].replace("postgresql://", "postgresql+psycopg2://")
        self.path = f"{options['folder']}/index"
        self.embeddings = Embeddings(
            {
                "method": "external",
                "transform": lambda texts: np.array(self.current.embed(texts), np.float32),
                "backend": "pgvector",
                "pgvector": {"url": url},
                "content": url,
            }
        )

    def add_one(self, item):
        self.add_batch([item])

    def add_batch(self, items):
        # The first call creates the index.
        self.embeddings.upsert([(item["id"], item, None) for item in items])
        self.embeddings.save(self.path)

    def search(self, query, user, limit):
        self.current = self.queries
        sql = f"SELECT id FROM txtai WHERE similar(:q) AND user = :user LIMIT {limit}"  # noqa: S608
        results = self.embeddings.search(sql, parameters={"q": query, "user": user})
        self.current = self.passages
        return [each["id"] for each in results]


if __name__ == "__main__":
    serve(Store, "txtai-minimal")
