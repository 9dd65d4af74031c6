"""Endpoints of mem0 for memories: add, search, list, read, change and delete."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any
from uuid import UUID

from django.http import HttpRequest

from interop.field_validation import field_error
from interop.mem0 import serialize
from interop.mem0.owner_filters import build_option_filters, split_by_owner
from interop.native_client import NativeError
from interop.protocol_view import ProtocolView
from kmapp.errors import Invalid, NotFound
from memory.api.add_messages import Add
from memory.models import MemoryEntry
from memory.models.entries import OWNER_IDS

DEFAULT_TOP_K = 10
NATIVE_LIMIT = 200  # the most that a native search returns; clients may ask for more
DEFAULT_THRESHOLD = 0.1
MAX_BATCH = 1000
MAX_VERSIONS = 1000  # of one memory, the newest
VERSIONS_PAGE = 200  # the most that a native history returns at once


def owner_of(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the ids of a request that are not blank: a native request ignores those that are."""
    return {name: data[name] for name in OWNER_IDS if str(data.get(name) or "").strip()}


def build_no_owner_error() -> Invalid:
    """Return the error for a request that names no owner."""
    return Invalid(
        "Send a user_id, agent_id, app_id or run_id.",
        issues=[{"path": "user_id", "message": "no owner is named"}],
    )


def get_memory_id(value: str) -> UUID:
    """Return the id in a path. Raise Invalid if it is not a UUID."""
    try:
        return UUID(value)
    except ValueError as error:
        raise Invalid(
            "memory_id should be a valid UUID.",
            issues=[{"path": "memory_id", "message": "is not a UUID"}],
        ) from error


class AddMemories(ProtocolView):
    """Add the messages of a conversation."""

    def post(self, request: HttpRequest) -> Any:
        data = self.body()
        filters = data.get("filters")
        owner = owner_of(filters if isinstance(filters, Mapping) else {}) | owner_of(data)
        if not owner:
            raise build_no_owner_error()
        infer = data.get("infer")
        body = {
            **owner,
            "messages": data.get("messages"),
            "metadata": data.get("metadata"),
            "infer": True if infer is None else infer,
            "observed_at": serialize.to_moment(data.get("timestamp")),
        }
        if data.get("memory_type"):
            body["memory_type"] = data["memory_type"]
        expires_at = serialize.to_expiry(data.get("expiration_date"))
        view = Add.as_view(expires_at=expires_at)
        return _added(self.post_native("/v1/memory/add", body, idempotent=True, view=view))


def _added(added: Mapping[str, Any]) -> dict[str, Any]:
    results = [
        {
            "id": each["id"],
            "memory": each["text"],
            "data": {"memory": each["text"]},
            "event": "ADD",
            "status": each["status"],
        }
        for each in added["results"]
    ]
    message = (
        "The memories were added." if added["event_id"] is None else "The messages are processed."
    )
    return {
        "message": message,
        "event_id": added["event_id"],
        "status": added["status"],
        "results": results,
    }


class SearchMemories(ProtocolView):
    """Search the memories of the owners that the filters name."""

    def post(self, request: HttpRequest) -> Any:
        data = self.body()
        options = build_option_filters({"categories": data.get("categories")})
        # The owner stays at the top level, where the search looks for it.
        parts = [
            {"AND": [*part["AND"], *options.get("AND", ())]}
            for part in split_by_owner(data.get("filters"))
        ]
        top_k = data.get("top_k") or data.get("limit") or DEFAULT_TOP_K
        if isinstance(top_k, int):
            top_k = min(top_k, NATIVE_LIMIT)
        threshold = data.get("threshold")
        question = {
            "query": data.get("query"),
            "limit": top_k,
            "min_score": DEFAULT_THRESHOLD if threshold is None else threshold,
            "explain": bool(data.get("score_breakdown")),
        }
        hits = [
            hit
            for part in parts
            for hit in self.post_native("/v1/memory/search", {**question, "filters": part})[
                "results"
            ]
        ]
        if len(parts) > 1:
            unique = {hit["id"]: hit for hit in hits}
            best = sorted(unique.values(), key=lambda hit: -hit["score"])
            hits = best[: int(top_k)]  # the native search has checked it; it may be 5.0
        return {"results": [serialize.search_result(hit) for hit in hits]}


class OneMemory(ProtocolView):
    """Read, change or delete one memory."""

    def get(self, request: HttpRequest, memory_id: str) -> Any:
        memory = self.post_native("/v1/memory/get", {"id": get_memory_id(memory_id)})
        if memory["status"] == MemoryEntry.Status.FORGOTTEN:
            raise NotFound("This memory was deleted.")
        return {**serialize.memory_item(memory), "lifecycle_state": memory["status"]}

    def put(self, request: HttpRequest, memory_id: str) -> Any:
        return update_memory(self, get_memory_id(memory_id), read_changes(self.body()))

    def delete(self, request: HttpRequest, memory_id: str) -> Any:
        self.post_native("/v1/memory/forget", {"id": get_memory_id(memory_id)})
        return {"message": "Memory deleted successfully!"}


def read_changes(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the new text, metadata and end of recall of a memory."""
    changes = {name: data[name] for name in ("text", "metadata") if data.get(name) is not None}
    if "expiration_date" in data:
        changes["expires_at"] = serialize.to_expiry(data["expiration_date"])
    return changes


def update_memory(view: ProtocolView, memory_id: UUID, changes: Mapping[str, Any]) -> Any:
    """Change a memory and return it.

    The change of an account-wide memory is a proposal: `status` is PENDING until a reviewer
    approves it, and `id` is the one of the proposal.
    """
    changed = view.post_native("/v1/memory/update", {"id": memory_id, **changes})
    status = "PENDING" if "supersedes" in changed else "SUCCEEDED"
    return {**serialize.memory_item(changed), "status": status}


class MemoryHistory(ProtocolView):
    """List the versions of a memory."""

    def get(self, request: HttpRequest, memory_id: str) -> Any:
        pk = get_memory_id(memory_id)
        memory = self.post_native("/v1/memory/get", {"id": pk})
        return serialize.history_item(memory, self._list_versions(pk, memory["version"]))

    def _list_versions(self, pk: UUID, last: int) -> list[Any]:
        """Return the newest versions, oldest first. Imported memories lack their first numbers."""
        versions: list[Any] = []
        after: int | None = max(0, last - MAX_VERSIONS)
        while after is not None:
            query = {"after": after, "limit": VERSIONS_PAGE}
            page = self.get_native(f"/v1/memory/{pk}/history", query)
            versions += page["versions"]
            after = page["next"]
        return versions


class BatchOfMemories(ProtocolView):
    """Change or delete up to 1,000 memories. Every memory is a change of its own."""

    def put(self, request: HttpRequest) -> Any:
        items = [(pk, read_changes(item)) for pk, item in self._items()]
        return self._apply("updated", [partial(update_memory, self, *each) for each in items])

    def delete(self, request: HttpRequest) -> Any:
        requests = [{"id": pk} for pk, _ in self._items()]
        forget = partial(self.post_native, "/v1/memory/forget")
        return self._apply("deleted", [partial(forget, each) for each in requests])

    def _apply(self, verb: str, changes: Sequence[Callable[[], Any]]) -> dict[str, Any]:
        """Make the changes in their order, up to the first that fails."""
        for number, change in enumerate(changes):
            try:
                change()
            except NativeError as error:
                if not number:
                    raise  # nothing was changed
                message = f"memories.{number}: {error.response.data['message']} "
                message += f"The {number} before it were {verb}, and no others."
                data = {**error.response.data, "message": message, "detail": message}
                raise NativeError(replace(error.response, data=data)) from error
        return {"message": f"Successfully {verb} {len(changes)} memories"}

    def _items(self) -> list[tuple[UUID, Mapping[str, Any]]]:
        raw = self.body().get("memories")
        items = raw if isinstance(raw, list) else []
        if not 1 <= len(items) <= MAX_BATCH:
            raise field_error("memories", f"must be a list of 1 to {MAX_BATCH} items")
        parsed = []
        for number, raw_item in enumerate(items):
            item = {"memory_id": raw_item} if isinstance(raw_item, str) else raw_item
            if not isinstance(item, Mapping):
                raise field_error(f"memories.{number}", "must be an object")
            parsed.append((get_memory_id(str(item.get("memory_id"))), item))
        return parsed


class Feedback(ProtocolView):
    """Rate a memory."""

    def post(self, request: HttpRequest) -> Any:
        data = self.body()
        outcome = data.get("feedback")
        outcome = "neutral" if outcome is None else str(outcome).lower()
        pk = get_memory_id(str(data.get("memory_id")))
        body = {"id": pk, "outcome": outcome, "reason": data.get("feedback_reason") or ""}
        rating = self.post_native("/v1/memory/feedback", body, idempotent=True)
        return {
            "id": rating["id"],
            "feedback": rating["outcome"].upper(),
            "feedback_reason": rating["reason"] or None,
        }
