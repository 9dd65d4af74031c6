"""The same search over each protocol, as the client of that protocol sends it."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx2

from interop.benchmarks.temporary_product import Product
from interop.hindsight.base_views import PROFILE_KIND
from interop.langgraph.items import AGENT, native_filters

LIMIT = 10
BATCH = 200
Search = Callable[[str], list[str]]


@dataclass(frozen=True, slots=True)
class Connection:
    """A connection to a product, and the owner of the texts that are searched."""

    product: Product
    http: httpx2.Client
    owner: str

    def send(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Return the JSON of an endpoint. Raise httpx2.HTTPStatusError."""
        response = self.http.request(method, self.product.url + path, json=body)
        response.raise_for_status()
        return response.json() if response.content else None

    def store(self, texts: Sequence[str]) -> None:
        """Store the texts for a user, for an agent, and as items of a LangGraph store."""
        for owner in ({"user_id": self.owner}, {"agent_id": self.owner}):
            for start in range(0, len(texts), BATCH):
                nodes = [{"type": "fact", "text": text} for text in texts[start : start + BATCH]]
                body = {"input_text": "benchmark", "visibility": "user", **owner, "nodes": nodes}
                self.send("POST", "/v1/memory/write", body)
        self.send("PUT", f"/v1/default/banks/{self.owner}", {"name": self.owner})
        for number, text in enumerate(texts):
            item = {"namespace": [self.owner], "key": str(number), "value": {"text": text}}
            self.send("PUT", "/store/items", item)

    def comparisons(self) -> dict[str, tuple[Search, Search]]:
        """Return the search of each protocol, and the native search of the same memories."""
        of_user = self._native({"user_id": self.owner})
        of_agent = self._native({"agent_id": self.owner, "filters": {"kind": {"ne": PROFILE_KIND}}})
        of_items = self._native({"agent_id": AGENT, "filters": native_filters([self.owner])})
        return {
            "mem0": (self._mem0, of_user),
            "Hindsight": (self._hindsight, of_agent),
            "LangGraph": (self._langgraph, of_items),
            "MCP": (self._mcp, of_user),
        }

    def _native(self, owner: Mapping[str, Any]) -> Search:
        def search(query: str) -> list[str]:
            body = {"query": query, "limit": LIMIT, **owner}
            hits = self.send("POST", "/v1/memory/search", body)["results"]
            return [hit["text"] for hit in hits]

        return search

    def _mem0(self, query: str) -> list[str]:
        body = {"query": query, "filters": {"user_id": self.owner}, "top_k": LIMIT}
        return [hit["memory"] for hit in self.send("POST", "/v3/memories/search/", body)["results"]]

    def _hindsight(self, query: str) -> list[str]:
        body = {"query": query, "budget": "low", "max_tokens": 4096}
        path = f"/v1/default/banks/{self.owner}/memories/recall"
        return [hit["text"] for hit in self.send("POST", path, body)["results"]][:LIMIT]

    def _langgraph(self, query: str) -> list[str]:
        body = {"namespace_prefix": [self.owner], "query": query, "limit": LIMIT}
        items = self.send("POST", "/store/items/search", body)["items"]
        return [item["value"]["text"] for item in items]

    def _mcp(self, query: str) -> list[str]:
        arguments = {"query": query, "user_id": self.owner, "limit": LIMIT}
        call = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "memory_search", "arguments": arguments},
        }
        accept = {"Accept": "application/json, text/event-stream"}
        response = self.http.post(self.product.mcp_url, json=call, headers=accept)
        response.raise_for_status()
        [line] = [line for line in response.text.splitlines() if line.startswith("data: {")]
        results = json.loads(line.removeprefix("data: "))["result"]["structuredContent"]["results"]
        return [hit["text"] for hit in results]


@contextmanager
def connect(product: Product, owner: str) -> Iterator[Connection]:
    headers = {"Authorization": f"Bearer {product.key}"}
    with httpx2.Client(headers=headers, timeout=60) as http:
        yield Connection(product, http, owner)
