"""Requests of the API, without sending them: both clients share these."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

Json = dict[str, Any]
LOAD_TOOL = "load_tool_history"


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """A request. `read` makes the result, of type T, from the JSON of the response."""

    method: str
    path: str
    body: Mapping[str, Any] | None = None
    read: Callable[[Any], T] = lambda data: data


class Results(list[Json]):
    """The results of a search. `response` has its other fields."""

    def __init__(self, response: Json) -> None:
        super().__init__(response["results"])
        self.response = response


def post(path: str, body: Mapping[str, Any]) -> Call[Json]:
    """Return a POST; fields that are None are not sent."""
    return Call("POST", path, without_none(body))


def post_search(path: str, body: Mapping[str, Any]) -> Call[Results]:
    return Call("POST", path, without_none(body), Results)


def without_none(body: Mapping[str, Any]) -> Json:
    return {name: value for name, value in body.items() if value is not None}


def store(text: str, **options: Any) -> Call[Json]:
    return post("/v1/memory/store", {"text": text, **options})


def add(messages: Any, **options: Any) -> Call[Json]:
    return post("/v1/memory/add", {"messages": messages, **options})


def search(query: str, **options: Any) -> Call[Results]:
    return post_search("/v1/memory/search", {"query": query, **options})


def inject(query: str, **options: Any) -> Call[Json]:
    return post("/v1/memory/inject", {"query": query, **options})


def get(memory_id: str) -> Call[Json]:
    return post("/v1/memory/get", {"id": memory_id})


def update(memory_id: str, **changes: Any) -> Call[Json]:
    """Return the change of a memory, with None: an `expires_at` of None removes the end of recall.

    The server ignores other fields that are None.
    """
    return Call("POST", "/v1/memory/update", {"id": memory_id, **changes})


def forget(memory_id: str, reason: str = "") -> Call[Json]:
    return post("/v1/memory/forget", {"id": memory_id, "reason": reason})


def rate(memory_id: str, outcome: str, reason: str = "") -> Call[Json]:
    body = {"id": memory_id, "outcome": outcome, "reason": reason}
    return post("/v1/memory/feedback", body)


def search_knowledge(query: str, **options: Any) -> Call[Results]:
    return post_search("/v1/knowledge/search", {"query": query, **options})


def evaluate_rules(context: Mapping[str, Any], **options: Any) -> Call[Json]:
    return post("/v1/memory/rules/evaluate", {"context": context, **options})


def select_tool(
    context: Mapping[str, Any], candidates: Sequence[str], **options: Any
) -> Call[Json]:
    body = {"context": context, "candidates": list(candidates), **options}
    return post("/v1/memory/tools/select", body)


def assemble(messages: Sequence[Mapping[str, Any]], **options: Any) -> Call[Json]:
    return post("/v1/context/assemble", {"messages": list(messages), **options})


def archive(tool_name: str, result: Any, **options: Any) -> Call[Json]:
    body = {"tool_name": tool_name, "result": result, **options}
    return post("/v1/tool-results", body)


def load_tool_result(uuid: str, **options: Any) -> Call[Json]:
    return post("/v1/tool-results/load", {"uuid": uuid, **options})


def list_memories(cursor: str | None, **options: Any) -> Call[Json]:
    return post("/v1/memory/list", {"cursor": cursor, **options})


def event(event_id: str) -> Call[Json]:
    return Call("GET", f"/v1/events/{event_id}")


def health() -> Call[Json]:
    return Call("GET", "/v1/health")


@dataclass(frozen=True, slots=True)
class LoadCall:
    """A call of `load_tool_history` in a message of the model."""

    call_id: str
    arguments: Mapping[str, Any]

    def request(self, scope: Mapping[str, Any]) -> Call[Json]:
        """Return the request that loads the result; null arguments are left out."""
        return post("/v1/tool-results/load", {"uuid": "", **self.arguments, **scope})


def find_load_calls(message: Mapping[str, Any]) -> list[LoadCall]:
    """Return the calls of `load_tool_history`; arguments that are no JSON object become empty."""
    calls = []
    for each in message.get("tool_calls") or ():
        function = each.get("function") or {}
        if function.get("name") == LOAD_TOOL:
            calls.append(LoadCall(each["id"], _arguments(function.get("arguments"))))
    return calls


def _arguments(text: Any) -> Mapping[str, Any]:
    try:
        value = json.loads(text)
    except (TypeError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def tool_message(call_id: str, content: str) -> Json:
    return {"role": "tool", "tool_call_id": call_id, "content": content}
