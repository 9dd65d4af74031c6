"""Store endpoints of LangGraph."""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from http import HTTPStatus
from itertools import islice
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.timezone import now
from django.views.decorators.http import require_safe

from interop.field_validation import field_error
from interop.key_value_memory import KeyedMemory, is_current
from interop.langgraph.items import (
    AGENT,
    ItemId,
    is_item,
    item_metadata,
    native_filters,
    parse_item_id,
    parse_namespace,
    searchable_text,
    serialize_item,
)
from interop.langgraph.value_filters import matches
from interop.protocol_view import ProtocolView
from memory.api.search import SearchMemories

NATIVE_LIMIT = 200
MAX_SCANNED = 10_000  # items that one search without a query reads
MAX_TTL = 10 * 366 * 24 * 60  # minutes
# Items of equal text are different items.
SEARCH_ITEMS = SearchMemories.as_view(drops_equal_texts=False)


@require_safe
def ok(request: HttpRequest) -> JsonResponse:
    """Answer the liveness check of LangGraph's clients."""
    return JsonResponse({"ok": True})


class Items(ProtocolView):
    """Put, get or delete one item."""

    def put(self, request: HttpRequest) -> HttpResponse:
        data = self.body()
        item, value = parse_item_id(data.get("namespace"), data.get("key")), data.get("value")
        if not isinstance(value, Mapping):
            raise field_error("value", "must be an object")
        index = data.get("index")
        memory = {
            "text": searchable_text(item, value, index),
            "metadata": item_metadata(item, value, index),
        }
        self._keyed(item).put(memory, _expiry(data.get("ttl")))
        return HttpResponse(status=HTTPStatus.NO_CONTENT)

    def get(self, request: HttpRequest) -> Any:
        namespace = request.GET.get("namespace", "").split(".")
        item = parse_item_id(namespace, request.GET.get("key"))
        memory = self._keyed(item).find()
        # Clients expect null, not 404, for an item that does not exist.
        return (
            serialize_item(memory) if memory and is_item(memory) else JsonResponse(None, safe=False)
        )

    def delete(self, request: HttpRequest) -> HttpResponse:
        data = self.body()
        self._keyed(parse_item_id(data.get("namespace"), data.get("key"))).delete()
        return HttpResponse(status=HTTPStatus.NO_CONTENT)

    def _keyed(self, item: ItemId) -> KeyedMemory:
        return KeyedMemory(self, AGENT, AGENT, (*item.namespace, item.key))


def _expiry(ttl: Any) -> Any:
    """Return the time when an item with this lifetime in minutes expires."""
    if ttl is None:
        return None
    if isinstance(ttl, bool) or not isinstance(ttl, int | float) or not 0 < ttl <= MAX_TTL:
        raise field_error("ttl", f"must be a number of minutes up to {MAX_TTL}")
    return now() + timedelta(minutes=ttl)


class SearchItems(ProtocolView):
    """Search the items below a namespace, by meaning and words with a query, else newest first."""

    def post(self, request: HttpRequest) -> Any:
        data = self.body()
        prefix = parse_namespace(data.get("namespace_prefix", []), "namespace_prefix")
        conditions = data.get("filter") or {}
        if not isinstance(conditions, Mapping):
            raise field_error("filter", "must be an object")
        offset, limit = read_number(data, "offset", 0, 0), read_number(data, "limit", 10, 1)
        query = data.get("query")
        # Conditions apply to the values of the results, so that more of these are needed.
        number = NATIVE_LIMIT if conditions else min(offset + limit, NATIVE_LIMIT)
        memories = self._search(prefix, query, number) if query else iterate_items(self, prefix)
        items = (serialize_item(memory) for memory in memories)
        matching = (item for item in items if matches(item["value"], conditions))
        return {"items": list(islice(matching, offset, offset + limit))}

    def _search(
        self, prefix: tuple[str, ...], query: Any, number: int
    ) -> Iterable[Mapping[str, Any]]:
        filters = native_filters(prefix)
        filters["metadata"] = {**filters.get("metadata", {}), "indexed": {"eq": True}}
        body = {"query": query, "agent_id": AGENT, "filters": filters, "limit": number}
        answer = self.post_native("/v1/memory/search", body, view=SEARCH_ITEMS)
        return [hit for hit in answer["results"] if is_item(hit)]


def iterate_items(view: ProtocolView, prefix: tuple[str, ...]) -> Iterable[Mapping[str, Any]]:
    """Yield the active items below a namespace, newest first; pages are read as needed."""
    body = {"filters": native_filters(prefix), "agent_id": AGENT, "status": "active"}
    memories = islice(view.iterate_memories(body, MAX_SCANNED), MAX_SCANNED)
    moment = now()
    return (each for each in memories if is_item(each) and is_current(each, moment))


def read_number(data: Mapping[str, Any], name: str, default: int, minimum: int) -> int:
    value = data.get(name)
    value = default if value is None else value
    if isinstance(value, bool) or not isinstance(value, int) or not minimum <= value <= MAX_SCANNED:
        raise field_error(name, f"must be a whole number from {minimum} to {MAX_SCANNED}")
    return value


class Namespaces(ProtocolView):
    """List the namespaces that have items."""

    def post(self, request: HttpRequest) -> Any:
        data = self.body()
        prefix, suffix = (_pattern(data.get(name), name) for name in ("prefix", "suffix"))
        offset, limit = read_number(data, "offset", 0, 0), read_number(data, "limit", 100, 1)
        depth = data.get("max_depth")
        if depth is not None:
            depth = read_number(data, "max_depth", 1, 1)
        # A wildcard ends the part of the prefix that the database can select.
        fixed = prefix[: prefix.index("*")] if "*" in prefix else prefix
        items = iterate_items(self, fixed)
        namespaces = {tuple(memory["metadata"]["namespace"]) for memory in items}
        matching = sorted(
            {
                labels[:depth]
                for labels in namespaces
                if _fits(labels[: len(prefix)], prefix)
                and _fits(labels[len(labels) - len(suffix) :], suffix)
            }
        )
        return {"namespaces": matching[offset : offset + limit]}


def _pattern(value: Any, name: str) -> tuple[str, ...]:
    return parse_namespace([] if value is None else value, name)


def _fits(labels: tuple[str, ...], pattern: tuple[str, ...]) -> bool:
    return len(labels) == len(pattern) and all(
        expected in ("*", label) for label, expected in zip(labels, pattern, strict=True)
    )
