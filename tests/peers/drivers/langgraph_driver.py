"""LangGraph's PostgresStore."""

from langchain_core.embeddings import Embeddings
from langgraph.store.base import PutOp
from langgraph.store.postgres import PostgresStore
from loop import Embedder, serve


class Embedding(Embeddings):
    """Embeddings whose kind the driver sets, because the store embeds queries as passages."""

    def __init__(self, options):
        self.passages = Embedder(options["passages"], "passage")
        self.queries = Embedder(options["queries"], "query")
        self.current = self.passages

    def embed_documents(self, texts):
        return self.current.embed(texts)

    def embed_query(self, text):
        return self.queries.embed([text])[0]


class Store:
    def __init__(self, options):
        self.embedding = Embedding(options)
        index = {"dims": options["dimensions"], "embed": self.embedding, "fields": ["text"]}
        self.context = PostgresStore.from_conn_string(options["database"], index=index)
        self.store = self.context.__enter__()
        self.store.setup()

    def add_one(self, item):
        self.store.put((item["user"],), item["id"], item)

    def add_batch(self, items):
        self.store.batch([PutOp((item["user"],), item["id"], item) for item in items])

    def search(self, query, user, limit):
        self.embedding.current = self.embedding.queries
        results = self.store.search((user,), query=query, limit=limit)
        self.embedding.current = self.embedding.passages
        return [each.key for each in results]


if __name__ == "__main__":
    serve(Store, "langgraph-checkpoint-postgres")
