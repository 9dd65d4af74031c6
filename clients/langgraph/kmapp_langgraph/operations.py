"""Translation of store operations to requests, and of responses to results. No input or output."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from langgraph.store.base import (
    GetOp,
    Item,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    validate_op_namespace,
)

ITEMS = "/store/items"
Namespace = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Request:
    """A request of the store endpoints."""

    method: str
    path: str
    body: Mapping[str, Any] | None = None


@dataclass(slots=True)
class Plan:
    """Requests of a batch: reads by their position, then the last write for each key.

    Reads see the store as it was before the writes of the same batch.
    """

    reads: dict[int, Request] = field(default_factory=dict)
    writes: dict[tuple[Namespace, str], Request] = field(default_factory=dict)
    size: int = 0


@dataclass(frozen=True, slots=True)
class Translator:
    """Translation for a store whose namespaces are below `root`."""

    root: Namespace = ()

    def plan(self, operations: Iterable[Op]) -> Plan:
        """Return the requests of a batch. Raise InvalidNamespaceError."""
        plan = Plan()
        for operation in operations:
            validate_op_namespace(operation)
            if isinstance(operation, PutOp):
                plan.writes[operation.namespace, operation.key] = self._put(operation)
            else:
                plan.reads[plan.size] = self._read(operation)
            plan.size += 1
        return plan

    def result(self, operation: Op, data: Any) -> Result:
        """Return the result of a read."""
        if isinstance(operation, GetOp):
            return None if data is None else Item(**self._fields(data))
        if isinstance(operation, SearchOp):
            return [
                SearchItem(**self._fields(each), score=each.get("score")) for each in data["items"]
            ]
        return [tuple(labels[len(self.root) :]) for labels in data["namespaces"]]

    def _full(self, namespace: Sequence[str]) -> list[str]:
        return [*self.root, *namespace]

    def _put(self, operation: PutOp) -> Request:
        address = {"namespace": self._full(operation.namespace), "key": operation.key}
        if operation.value is None:
            return Request("DELETE", ITEMS, address)
        body = {**address, "value": operation.value}
        if operation.index is not None:
            body["index"] = operation.index
        if operation.ttl is not None:
            body["ttl"] = operation.ttl
        return Request("PUT", ITEMS, body)

    def _read(self, operation: Op) -> Request:
        if isinstance(operation, GetOp):
            namespace = ".".join(self._full(operation.namespace))
            query = urlencode({"namespace": namespace, "key": operation.key})
            return Request("GET", f"{ITEMS}?{query}")
        if isinstance(operation, SearchOp):
            body = {
                "namespace_prefix": self._full(operation.namespace_prefix),
                "filter": operation.filter,
                "limit": operation.limit,
                "offset": operation.offset,
                "query": operation.query,
            }
            return Request("POST", f"{ITEMS}/search", body)
        if isinstance(operation, ListNamespacesOp):
            return self._list(operation)
        raise TypeError(f"Unknown operation: {operation!r}")

    def _list(self, operation: ListNamespacesOp) -> Request:
        paths = {each.match_type: list(each.path) for each in operation.match_conditions or ()}
        depth = operation.max_depth
        body = {
            "prefix": self._full(paths.get("prefix", ())),
            "suffix": paths.get("suffix"),
            "max_depth": None if depth is None else depth + len(self.root),
            "limit": operation.limit,
            "offset": operation.offset,
        }
        return Request("POST", "/store/namespaces", body)

    def _fields(self, data: Mapping[str, Any]) -> dict[str, Any]:
        names = ("key", "value", "created_at", "updated_at")
        namespace = tuple(data["namespace"][len(self.root) :])
        return {"namespace": namespace, **{name: data[name] for name in names}}
