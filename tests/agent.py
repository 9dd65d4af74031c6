"""A client of the API."""

from dataclasses import dataclass
from typing import Any

from rest_framework.test import APIClient


@dataclass
class Agent:
    client: APIClient

    def post(self, path: str, body: Any, status: int | None = None, **headers: str) -> Any:
        answer = self.client.post(f"/v1/{path}", body, format="json", headers=headers or None)
        return self._read(answer, status, path, body)

    def get(self, path: str, status: int | None = None, **query: Any) -> Any:
        return self._read(self.client.get(f"/v1/{path}", query), status, path, query)

    def patch(self, path: str, body: Any, status: int | None = None) -> Any:
        answer = self.client.patch(f"/v1/{path}", body, format="json")
        return self._read(answer, status, path, body)

    def delete(self, path: str, status: int | None = None) -> Any:
        return self._read(self.client.delete(f"/v1/{path}"), status, path)

    def store(self, text: str, **fields: Any) -> str:
        """Store a new memory and return its id."""
        return str(self.post("memory/store", {"text": text, **fields}, 201)["id"])

    def write(self, *texts: str, **fields: Any) -> list[str]:
        """Write new memories that share these fields, and return their ids."""
        nodes = [{"text": text, **fields} for text in texts]
        written = self.post("memory/write", {"nodes": nodes}, 201)
        return [str(node["id"]) for node in written["nodes"]]

    def search(self, query: str, **fields: Any) -> list[dict[str, Any]]:
        """Return the memories that a search finds."""
        results: list[dict[str, Any]] = self.post("memory/search", {"query": query, **fields}, 200)[
            "results"
        ]
        return results

    def erase(self, **which: Any) -> dict[str, Any]:
        """Request an erasure, confirm it with the token, and return both responses merged."""
        counted = self.post("memory/erase", which, 200)
        assert counted["erased"] is False
        token = {"confirm_token": counted["confirm_token"]}
        done: dict[str, Any] = counted | self.post("memory/erase", {**which, **token}, 200)
        return done

    def _read(self, answer: Any, status: int | None, *request: Any) -> Any:
        """Return the body of a response; a failure names the request."""
        body = answer.json()
        expected = {status} if status else {200, 201, 202}
        assert answer.status_code in expected, (str(request)[:1_000], answer.status_code, body)
        return body
