"""LangGraph's BaseStore on kmapp."""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any, Self

from kmapp_client import AsyncClient, Client
from langgraph.store.base import BaseStore, Op, Result

from kmapp_langgraph.operations import Request, Translator


class KmappStore(BaseStore):
    """A store whose items are memories of kmapp.

    `root` is a namespace that all others are below; it keeps applications apart.
    """

    supports_ttl = True

    def __init__(
        self, base_url: str, api_key: str, *, root: Sequence[str] = (), **options: Any
    ) -> None:
        self._translator = Translator(tuple(root))
        self._client = Client(base_url, api_key, **options)
        self._connect = lambda: AsyncClient(base_url, api_key, **options)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._client.close()

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run reads, then writes. Raise KmappError."""
        operations = list(ops)
        plan = self._translator.plan(operations)
        results: list[Result] = [None] * plan.size
        for position, request in plan.reads.items():
            results[position] = self._translator.result(operations[position], self._send(request))
        for request in plan.writes.values():
            self._send(request)
        return results

    def _send(self, request: Request) -> Any:
        return self._client.request(request.method, request.path, request.body)

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Run reads, then writes, each group concurrently. Raise KmappError."""
        operations = list(ops)
        plan = self._translator.plan(operations)
        results: list[Result] = [None] * plan.size
        async with self._connect() as client:

            async def send(request: Request) -> Any:
                return await client.request(request.method, request.path, request.body)

            answers = await asyncio.gather(*map(send, plan.reads.values()))
            for position, data in zip(plan.reads, answers, strict=True):
                results[position] = self._translator.result(operations[position], data)
            await asyncio.gather(*map(send, plan.writes.values()))
        return results
