"""Key-value storage on memories: a key can be deleted and created again.

The client ID of a memory is derived from the key and a generation. A deleted memory is forgotten
and keeps its client ID, so the next memory under the same key is the next generation. The last
generation is not forgotten: it loses its text and metadata and expires, so that it can be used
again and again.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any

from django.utils.timezone import now

from interop.native_client import NativeError
from interop.protocol_view import ProtocolView
from kmapp.accounts.acting import acting
from kmapp.errors import Conflict
from memory.actions.write_entries import needs_review
from memory.models import MemoryEntry, MemorySettings

VISIBILITY = "user"
MAX_GENERATIONS = 200  # client IDs that one native request can name
DELETED_TEXT = "Deleted."  # of the last generation
CREATED_AT = "created_at"  # in the metadata of a memory that was put again after it had expired
# Codes of native errors: the memory is not there any more; its client ID is used by another one.
GONE = ("wrong_status", "not_found", "gone")
USED = ("client_id_conflict", "client_id_erased", "withheld")
Memory = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class KeyedMemory:
    """The memory of an agent under one key, which is a list of texts."""

    view: ProtocolView
    agent_id: str
    namespace: str  # of the client IDs, so that protocols do not collide
    key: Sequence[str]

    def find(self) -> Memory | None:
        """Return the current memory, if it is neither forgotten nor expired."""
        return find_current(self._generations())

    def find_proposal(self, memory: Mapping[str, Any]) -> Memory | None:
        """Return the proposal that putting this memory would change, if there is one."""
        return next(iter(self._list_pending(memory, self._generations())), None)

    def put(self, memory: Mapping[str, Any], expires_at: Any = None) -> None:
        """Update the memory, also an expired one or its proposal, or store a new generation.

        These are used again, because the number of generations is limited, and so that a memory
        that needs review has one proposal.
        """
        values, generations = {**memory, "expires_at": expires_at}, self._generations()
        active = _list_active(generations)
        reusable = active or self._list_pending(memory, generations)
        if not reusable or not self._update(reusable[0], values):
            self._store(values, generations)
            active = _list_active(self._generations())
        # Two requests that store a new key at the same time store a generation each.
        self._forget_current(active[1:])

    def ensure(self, memory: Mapping[str, Any]) -> None:
        """Store the memory unless there is one, which may need review."""
        generations = self._generations()
        if find_current(generations) or self._list_pending(memory, generations):
            return
        if _list_active(generations):
            self.put(memory)  # it has expired
            return
        stored = self._store(memory, generations)
        active = _list_active(self._generations())
        if active[1:] and active[0]["id"] == stored["id"]:
            # Another request has put one meanwhile. It may forget it as the older one, so that
            # its values must stay in the newest one.
            self._update(active[0], {name: active[1][name] for name in memory})
        self._forget_current(active[1:])

    def _list_pending(
        self, memory: Mapping[str, Any], generations: Sequence[Memory]
    ) -> list[Memory]:
        """Return the proposals of this API key, if the memory would be another one.

        Without a need of a review, the memory must be active at once.
        """
        ids = [each["id"] for each in _list_proposed(generations)]
        if not ids:
            return []
        principal = self.view.request.auth  # type: ignore[attr-defined] # set by the native call
        account_id, actor = principal.account_id, principal.actor
        with acting(account_id):
            settings = MemorySettings.objects.get_or_default(account_id)
            kind = memory.get("kind", MemoryEntry.Kind.FACT)
            if not needs_review(settings, actor, VISIBILITY, kind):
                return []
            rows = MemoryEntry.objects.of(account_id).filter(pk__in=ids, created_by=str(actor))
            own = set(rows.values_list("pk", flat=True))
        return [each for each in generations if each["id"] in own]

    def _update(self, current: Memory, values: Mapping[str, Any]) -> bool:
        """Update a generation; return False if another request has forgotten it meanwhile."""
        metadata = {**values["metadata"], **_describe_creation(current)}
        body = {"id": current["id"], **values, "metadata": metadata}
        try:
            self.view.post_native("/v1/memory/update", body)
        except NativeError as error:
            if error.response.data["error"] not in GONE:
                raise
            return False
        return True

    def delete(self) -> bool:
        """Forget the current memory and its proposals; return whether there was a current one."""
        generations = self._generations()
        self._forget_current(_list_active(generations))
        for proposal in _list_proposed(generations):
            self._forget(proposal)
        return find_current(generations) is not None

    def _forget_current(self, active: Sequence[Memory]) -> None:
        moment = now()
        for memory in active:
            if is_current(memory, moment):
                self._forget(memory)

    def _forget(self, memory: Memory) -> None:
        try:
            if memory["client_id"] != self._client_ids()[-1] or not self._expire(memory):
                self.view.post_native("/v1/memory/forget", {"id": memory["id"]})
        except NativeError as error:  # another request has forgotten it meanwhile
            if error.response.data["error"] not in GONE:
                raise

    def _expire(self, memory: Memory) -> bool:
        """Empty a memory and end its recall; return False if a person would have to approve that.

        It is emptied because lists may contain expired memories.
        """
        body = {"id": memory["id"], "text": DELETED_TEXT, "metadata": {}, "expires_at": now()}
        changed = self.view.post_native("/v1/memory/update", body)
        if "supersedes" not in changed:
            return True
        self.view.post_native("/v1/memory/forget", {"id": changed["id"]})
        return False

    def _client_ids(self) -> list[str]:
        digest = sha256(json.dumps(list(self.key)).encode()).hexdigest()[:32]
        return [f"{self.namespace}:{digest}:{number}" for number in range(MAX_GENERATIONS)]

    def _generations(self) -> list[Memory]:
        """Return the memories that the key has or had, newest first."""
        body = {"client_ids": self._client_ids(), "agent_id": self.agent_id}
        return self.view.list_memories(body, MAX_GENERATIONS)

    def _store(self, memory: Mapping[str, Any], generations: Sequence[Memory]) -> Memory:
        """Store the memory under the first free client ID, and return it."""
        used = {generation["client_id"] for generation in generations}
        for client_id in self._client_ids():
            if client_id in used:
                continue
            body = {
                **memory,
                "client_id": client_id,
                "agent_id": self.agent_id,
                "visibility": VISIBILITY,
                "dedupe": False,
            }
            try:
                stored: Memory = self.view.post_native("/v1/memory/store", body)
            except NativeError as error:
                if error.response.data["error"] not in USED:
                    raise
                continue
            # Otherwise it is an equal one that was forgotten, which another key may have written.
            if stored["status"] in ("active", "proposed"):
                return stored
        # The last generation was not deleted here, but forgotten or erased by other means.
        raise Conflict("This key was deleted and created too often. Use another key.")


def _list_active(generations: Sequence[Memory]) -> list[Memory]:
    """Return the generations that are not forgotten, also expired ones."""
    return [each for each in generations if each["status"] == "active"]


def _list_proposed(generations: Sequence[Memory]) -> list[Memory]:
    """Return the generations that need review."""
    return [each for each in generations if each["status"] == "proposed"]


def find_current(generations: Sequence[Memory]) -> Memory | None:
    """Return the newest active generation unless it has expired: older ones were replaced."""
    newest = next(iter(_list_active(generations)), None)
    return newest if newest and is_current(newest, now()) else None


def _describe_creation(memory: Memory) -> dict[str, str]:
    """Return the metadata with which a memory is updated: when it is, or was, created again."""
    moment = now()
    if memory["status"] == "active" and not is_current(memory, moment):
        return {CREATED_AT: moment.isoformat()}
    created_again = (memory["metadata"] or {}).get(CREATED_AT)
    return {CREATED_AT: created_again} if isinstance(created_again, str) else {}


def get_created_at(memory: Memory) -> Any:
    """Return when a memory was created, or put again after it had expired."""
    try:
        created_again = datetime.fromisoformat(memory["metadata"][CREATED_AT])
    except (LookupError, TypeError, ValueError):  # other clients can write metadata
        return memory["created_at"]
    return created_again if created_again.tzinfo else memory["created_at"]


def is_current(memory: Memory, moment: Any) -> bool:
    """Return whether a native memory is active and has not expired."""
    expires_at = memory["expires_at"]
    return bool(memory["status"] == "active" and not (expires_at and expires_at <= moment))
