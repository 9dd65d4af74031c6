"""A client of the API."""

from dataclasses import dataclass
from typing import Any

from rest_framework.test import APIClient


@dataclass
class Agent:
    client: APIClient

    def post(self, path: str, body: Any, status: int | None = None, **headers: str) -> Any:
        answer = self.client.post(f"/v1/{path}", body, format="json", headers=headers or None)
        return self._read(answer, status)

    def get(self, path: str, status: int | None = None, **query: Any) -> Any:
        return self._read(self.client.get(f"/v1/{path}", query), status)

    def delete(self, path: str, status: int | None = None) -> Any:
        return self._read(self.client.delete(f"/v1/{path}"), status)

    def _read(self, answer: Any, status: int | None) -> Any:
        body = answer.json()
        expected = {status} if status else {200, 201, 202}
        assert answer.status_code in expected, body
        return body
