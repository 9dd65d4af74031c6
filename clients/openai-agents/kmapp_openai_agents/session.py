"""A session whose items are memories of one run."""

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any
from uuid import uuid4

from agents.items import TResponseInputItem
from agents.memory.session_settings import SessionSettings, resolve_session_limit
from kmapp_client import AsyncClient, KmappError

AGENT = "openai-agents"
PAGE = 200
MAX_TEXT = 50_000  # characters of a memory; the whole item is in its metadata
MAX_NODES = 500  # memories in one write
MAX_WRITE = 1_000_000  # characters of JSON in one write, unless one item has more


class KmappSession:
    """The items of a conversation, oldest first.

    An item is a memory: its metadata has the item and its number, and its text is the item's. Items
    that were added together stay together, also if others were added at the same time: their
    metadata has the number of the first one and an id of the batch.
    """

    def __init__(
        self,
        session_id: str,
        base_url: str,
        api_key: str,
        *,
        session_settings: SessionSettings | None = None,
        **options: Any,
    ) -> None:
        self.session_id = session_id
        self.session_settings: SessionSettings | None = session_settings
        self._client = AsyncClient(base_url, api_key, **options)

    async def close(self) -> None:
        await self._client.close()

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return the latest `limit` items, or all of them, in chronological order."""
        most = resolve_session_limit(limit, self.session_settings)
        memories = await self._memories()
        items = [memory["metadata"]["item"] for memory in memories]
        return items if most is None else items[len(items) - min(most, len(items)) :]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Append items, in several writes if there are many; if one fails, none of them stays."""
        if not items:
            return
        numbers = [memory["metadata"]["number"] for memory in await self._memories()]
        first, batch = max(numbers, default=-1) + 1, uuid4().hex
        nodes = [
            {
                "type": "event",
                "text": item_text(item),
                "metadata": {"item": item, "number": number, "first": first, "batch": batch},
            }
            for number, item in enumerate(items, start=first)
        ]
        for number, block in enumerate(split_nodes(nodes)):
            body = {
                "input_text": f"{len(block)} items of a session",
                "agent_id": AGENT,
                "run_id": self.session_id,
                "visibility": "conversation",
                "nodes": block,
            }
            try:
                await self._client.request("POST", "/v1/memory/write", body)
            except KmappError as error:
                if number or not error.status:  # without a response, the block may be stored
                    await self._forget_batch(batch)
                raise

    async def _forget_batch(self, batch: str) -> None:
        """Forget the stored items of a batch, unless that fails too."""
        selection = {
            "agent_id": AGENT,
            "run_id": self.session_id,
            "filters": {"metadata": {"batch": batch}},
        }
        confirmation = {"reason": "A later write of the same items failed."}
        with suppress(KmappError):
            counted = await self._client.request("POST", "/v1/memory/forget", selection)
            confirmation["confirm_token"] = counted["confirm_token"] or ""
            await self._client.request("POST", "/v1/memory/forget", {**selection, **confirmation})

    async def pop_item(self) -> TResponseInputItem | None:
        """Remove and return the latest item, or None if there is none."""
        memories = await self._memories()
        if not memories:
            return None
        await self._client.forget(memories[-1]["id"], "Removed from the session.")
        item: TResponseInputItem = memories[-1]["metadata"]["item"]
        return item

    async def clear_session(self) -> None:
        """Forget all items."""
        for memory in await self._memories():
            await self._client.forget(memory["id"], "The session was cleared.")

    async def _memories(self) -> list[dict[str, Any]]:
        """Return the memories of the session, oldest first, without those of the whole account."""
        owner = {"agent_id": AGENT, "run_id": self.session_id}
        memories = [
            memory
            async for memory in self._client.list_memories(
                **owner, filters=owner, status="active", limit=PAGE
            )
            if {"item", "number"} <= memory["metadata"].keys()
        ]
        return sorted(memories, key=lambda memory: order_key(memory["metadata"]))


def order_key(metadata: dict[str, Any]) -> tuple[int, str, int]:
    """Return the place of an item. Those of earlier releases have no batch."""
    number = metadata["number"]
    return metadata.get("first", number), metadata.get("batch", ""), number


def split_nodes(nodes: Sequence[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Yield the nodes in blocks that the server accepts in one write."""
    block: list[dict[str, Any]] = []
    size = 0
    for node in nodes:
        length = len(json.dumps(node))
        if block and (len(block) == MAX_NODES or size + length > MAX_WRITE):
            yield block
            block, size = [], 0
        block.append(node)
        size += length
    if block:
        yield block


def item_text(item: Any) -> str:
    """Return the text of an item, or its JSON for calls and their results, up to MAX_TEXT."""
    content = item.get("content")
    parts = content if isinstance(content, list) else [content]
    texts = [part.get("text") if isinstance(part, dict) else part for part in parts]
    text = "\n".join(each for each in texts if isinstance(each, str) and each.strip())
    return (text or json.dumps(item, ensure_ascii=False))[:MAX_TEXT]
