"""Retaining memories in a bank."""

import json
import time
from collections.abc import Collection, Mapping, Sequence
from hashlib import sha256
from typing import Any
from uuid import UUID

from django.http import HttpRequest

from interop.field_validation import field_error, read_texts
from interop.hindsight.base_views import BankView
from interop.hindsight.serialize import NO_USAGE, OWN_FIELDS
from interop.native_client import NativeResponse
from kmapp.accounts.acting import acting
from kmapp.ledger.models import Commit
from kmapp.outbox.models import Delivery
from memory.models import MemoryEntry
from memory.retrieval.filter_expressions import ANY_VALUE

ACTIVE, PROPOSED = "active", "proposed"
MAX_ITEMS = 200
MAX_REPLACED = 10_000  # memories of a document
MAX_FILTER_VALUES = 500
TIMELESS = "unset"  # a timestamp
FIELDS = {"text": "content", "observed_at": "timestamp"}  # of a node -> of an item
MAX_WAIT = 3.0  # seconds that a web thread waits; the memories are stored in any case
WAIT_INTERVAL = 0.05


class Retain(BankView):
    """Retain memories, with their texts as they are.

    Without `async`, the response waits a few seconds for the embeddings, so that the memories can
    be recalled by meaning at once.
    """

    def post(self, request: HttpRequest, bank: str) -> Any:
        data = self.body()
        items = data.get("items")
        if not isinstance(items, list) or not 1 <= len(items) <= MAX_ITEMS:
            raise field_error("items", f"must be a list of 1 to {MAX_ITEMS} items")
        tags = read_texts(data.get("document_tags"), "document_tags")
        nodes = [_node(item, number, tags) for number, item in enumerate(items)]
        _add_client_ids(nodes, bank, data.get("operation_id"))
        self.ensure_bank(bank)
        replaced = [document_filter(bank, each) for each in _replaced_documents(items)]
        body = {
            "input_text": f"retain {len(nodes)} items",
            "agent_id": bank,
            "visibility": "user",
            "nodes": nodes,
        }
        written = self.post_native("/v1/memory/write", body, idempotent=True)
        self._forget_replaced(bank, replaced, written)
        if not data.get("async") and "embedding_backfill" in written:
            account_id = UUID(str(written["tenant_id"]))
            _wait_for_embeddings(account_id, written["embedding_backfill"]["event_ids"])
        return {
            "success": True,
            "bank_id": bank,
            "items_count": len(nodes),
            "async": bool(data.get("async")),
            "operation_id": str(written["commit_id"]) if written["commit_id"] else None,
            "usage": NO_USAGE,
        }

    def _forget_replaced(
        self, bank: str, documents: Sequence[Mapping[str, Any]], written: Mapping[str, Any]
    ) -> None:
        """Forget the memories of these documents that earlier commits wrote.

        They are listed after the write, and commits are in one order. So the last one of concurrent
        requests forgets what the others wrote, and a repeated request may come late. Active
        memories stay while the nodes that replace them wait for review.
        """
        is_active = all(node["status"] == ACTIVE for node in written["nodes"])
        memories = [
            memory
            for document in documents
            for status in ((ACTIVE, PROPOSED) if is_active else (PROPOSED,))
            for memory in self.list_memories({**document, "status": status}, MAX_REPLACED)
        ]
        own = {str(node["id"]) for node in written["nodes"]}
        others = {str(memory["id"]) for memory in memories} - own
        replaced = _select_earlier(written, others) if others and written["commit_id"] else []
        for start in range(0, len(replaced), MAX_FILTER_VALUES):
            ids = replaced[start : start + MAX_FILTER_VALUES]
            self.forget_owned({"agent_id": bank, "filters": {"id": {"in": ids}}})

    def error_body(self, response: NativeResponse) -> Any:
        """Name the fields of the items as the client sent them."""
        issues = [
            {**issue, "path": _translate_path(issue["path"])}
            for issue in response.data.get("issues", ())
        ]
        return {**response.data, "issues": issues} if issues else response.data


def _wait_for_embeddings(account_id: UUID, events: Sequence[UUID]) -> None:
    """Wait until the jobs of these events are finished, at most MAX_WAIT."""
    deadline = time.monotonic() + MAX_WAIT
    while True:
        with acting(account_id):
            pending = Delivery.objects.of(account_id).filter(event__in=events).open().exists()
        if not pending or time.monotonic() > deadline:
            return
        time.sleep(WAIT_INTERVAL)


def _select_earlier(written: Mapping[str, Any], ids: Collection[str]) -> list[str]:
    """Return those of the memories that were written in a commit before that of `written`."""
    account_id, last = UUID(str(written["tenant_id"])), UUID(str(written["commit_id"]))
    with acting(account_id):
        rows = MemoryEntry.objects.of(account_id).filter(pk__in=ids).order_by("pk")
        commits = dict(rows.values_list("pk", "written_in"))
        order = Commit.objects.of(account_id).filter(pk__in={*commits.values(), last})
        numbers = dict(order.values_list("pk", "seq"))
    return [str(pk) for pk, commit in commits.items() if numbers[commit] < numbers[last]]


def _translate_path(path: str) -> str:
    nodes, _, rest = path.partition(".")
    number, _, name = rest.partition(".")
    if nodes != "nodes":
        return path
    return ".".join(part for part in ("items", number, FIELDS.get(name, name)) if part)


def _add_client_ids(nodes: Sequence[dict[str, Any]], bank: str, operation_id: Any) -> None:
    """Give nodes ids by which a repeated operation is recognised."""
    if operation_id is None:
        return
    if not isinstance(operation_id, str):
        raise field_error("operation_id", "must be a text")
    digest = sha256(json.dumps([bank, operation_id]).encode()).hexdigest()[:32]
    for number, node in enumerate(nodes):
        node["client_id"] = f"hindsight:{digest}:{number}"


def document_filter(bank: str, document: str) -> dict[str, Any]:
    """Return the native request for the memories of a document."""
    if document == ANY_VALUE:
        raise field_error("document_id", "must not be *, which stands for any document")
    return {"agent_id": bank, "filters": {"metadata": {"document_id": document}}}


def _replaced_documents(items: Sequence[Mapping[str, Any]]) -> set[str]:
    """Return the documents whose earlier memories the items replace."""
    return {
        item["document_id"]
        for item in items
        if item.get("document_id") and item.get("update_mode") != "append"
    }


def _node(item: Any, number: int, document_tags: Sequence[str]) -> dict[str, Any]:
    """Return an item as a node of a native write."""
    path = f"items.{number}"
    if not isinstance(item, Mapping):
        raise field_error(path, "must be an object")
    metadata = item.get("metadata") or {}
    own = {name: item[name] for name in OWN_FIELDS if item.get(name)}
    if not isinstance(metadata, Mapping) or not all(isinstance(v, str) for v in own.values()):
        raise field_error(f"{path}.metadata", "must be an object, context and document_id texts")
    timestamp = item.get("timestamp") or item.get("event_date")
    entities = item.get("entities") or []
    if not isinstance(entities, list):
        raise field_error(f"{path}.entities", "must be a list")
    names = [each.get("text") if isinstance(each, Mapping) else each for each in entities]
    return {
        "type": "event" if item.get("strategy") == "experience" else "fact",
        "text": _content(item.get("content"), path),
        "metadata": {**metadata, **own},
        "tags": [*read_texts(item.get("tags"), f"{path}.tags"), *document_tags],
        "entities": names,
        "observed_at": None if timestamp == TIMELESS else timestamp,
    }


def _content(content: Any, path: str) -> Any:
    """Return the text of a content; blocks other than text are refused."""
    if not isinstance(content, list):
        return content
    texts = [block.get("text") for block in content if isinstance(block, Mapping)]
    if len(texts) != len(content) or not all(isinstance(text, str) for text in texts):
        raise field_error(f"{path}.content", "has a block that is not text")
    return "\n".join(map(str, texts))
