"""mem0 with pgvector, without a chat model."""

import time

from loop import Clock, serve
from mem0 import Memory
from openai import OpenAI


class Store:
    def __init__(self, options):
        self.memory = Memory.from_config(
            {
                "vector_store": {
                    "provider": "pgvector",
                    "config": {
                        "connection_string": options["database"],
                        "embedding_model_dims": options["dimensions"],
                        "collection_name": "memories",
                        "hnsw": True,
                    },
                },
                "embedder": {
                    "provider": "openai",
                    "config": {
                        "api_key": "none",
                        "model": "e5-passage",
                        "openai_base_url": options["passages"],
                    },
                },
                "llm": {
                    "provider": "openai",
                    "config": {"api_key": "none", "openai_base_url": "http://127.0.0.1:9/v1"},
                },
                "history_db_path": f"{options['folder']}/history.db",
            }
        )
        self.embedder = self.memory.embedding_model
        self.passages = self.embedder.client
        self.queries = OpenAI(api_key="none", base_url=options["queries"])
        self.embed, self.embedder.embed = self.embedder.embed, self.timed_embed

    def timed_embed(self, text, memory_action=None):
        """Embed a text with the embedder of its kind; mem0 itself embeds queries as passages."""
        began = time.perf_counter()
        is_query = memory_action == "search"
        self.embedder.client = self.queries if is_query else self.passages
        self.embedder.config.model = "e5-query" if is_query else "e5-passage"
        vector = self.embed(text, memory_action)
        Clock.embedding += time.perf_counter() - began
        return vector

    def add_one(self, item):
        metadata = {"item": item["id"], "run": item["run"], "observed_at": item["observed_at"]}
        self.memory.add(item["text"], user_id=item["user"], metadata=metadata, infer=False)

    def add_batch(self, items):
        for item in items:
            self.add_one(item)

    def search(self, query, user, limit):
        answer = self.memory.search(query, filters={"user_id": user}, top_k=limit)
        return [each["metadata"]["item"] for each in answer["results"]]


if __name__ == "__main__":
    serve(Store, "mem0ai")
