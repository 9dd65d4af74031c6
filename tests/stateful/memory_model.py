"""A model of the memories of one account: plain Python, without a database."""

from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

_commits = count(1)


@dataclass(frozen=True, slots=True)
class Version:
    text: str
    status: str
    commit: int
    pinned: bool = False
    expired: bool = False
    bulk: bool = False  # created by a decision about many memories


@dataclass(slots=True)
class Memory:
    """A memory with its versions; `user` is empty for one of the whole account."""

    id: str
    user: str
    client_id: str
    written: tuple[str, str]  # the text and user of the write
    versions: list[Version]
    replaces: str = ""  # the id of the memory that approving it supersedes
    nameless: bool = False  # written without a client id: an identical write returns this memory
    erased: bool = False

    @property
    def now(self) -> Version:
        return self.versions[-1]

    @property
    def version(self) -> int:
        return len(self.versions)

    @property
    def is_current(self) -> bool:
        return self.now.status == "active" and not self.now.expired and not self.erased

    def change(self, commit: int, **values: Any) -> None:
        bulk = values.pop("bulk", False)
        self.versions.append(replace(self.now, commit=commit, bulk=bulk, **values))


@dataclass
class Model:
    """The expected memories of an account. Operations return whether the product accepts them."""

    memories: dict[str, Memory] = field(default_factory=dict)
    # By idempotency key: the text, the status of the response, and the id of the memory.
    keys: dict[str, tuple[str, int, str]] = field(default_factory=dict)

    def stored(self) -> list[Memory]:
        return [each for each in self.memories.values() if not each.erased]

    def named(self, client_id: str) -> Memory | None:
        return next((m for m in self.memories.values() if m.client_id == client_id), None)

    def visible(self, user: str) -> set[str]:
        """Return the ids of the memories that a reader may get for this user."""
        return {m.id for m in self.stored() if m.is_current and m.user in ("", user)}

    def identical(self, text: str, user: str) -> Memory | None:
        """Return the memory that an identical write without an id returns."""
        return next(
            (
                m
                for m in self.stored()
                if m.nameless
                and m.written == (text, user)
                and m.now.text == text
                and (m.is_current or m.now.status == "proposed")
            ),
            None,
        )

    def check_named(self, client_id: str, text: str, user: str) -> int:
        """Return the status of a write with a client id, which creates a memory on 201."""
        existing = self.named(client_id)
        if existing is None:
            return 201
        if existing.erased:
            return 410
        return 200 if existing.written == (text, user) else 409

    def add(self, pk: str, text: str, user: str, **more: Any) -> Memory:
        status = "active" if user else "proposed"
        first = Version(text, status, next(_commits), expired=more.pop("expired", False))
        self.memories[pk] = Memory(
            pk, user, more.pop("client_id", ""), (text, user), [first], **more
        )
        return self.memories[pk]

    def decide(self, memory: Memory, seen: int, when: tuple[str, ...], **values: Any) -> bool:
        """Apply a decision about this version, if the memory is in one of these states."""
        if seen != memory.version or memory.now.status not in when:
            return False
        memory.change(next(_commits), **values)
        return True

    def correct(self, memory: Memory, seen: int, when: tuple[str, ...], **values: Any) -> bool:
        """Apply a correction of an agent, whose new text unpins the memory."""
        if values.get("text", memory.now.text) != memory.now.text:
            values["pinned"] = False
        return self.decide(memory, seen, when, **values)

    def approve(self, memory: Memory, seen: int) -> bool:
        if seen != memory.version or memory.now.status != "proposed":
            return False
        self._activate(memory, self._replaced_by(memory), next(_commits))
        return True

    def _replaced_by(self, *memories: Memory) -> list[Memory]:
        """Return the other memories and proposals that the proposals among these replace.

        If that is a proposal, also those that it replaces.
        """
        replaced: list[Memory] = []
        added = list(memories)
        while added:
            ids = {memory.replaces for memory in added if memory.now.status == "proposed"}
            ids -= {memory.id for memory in (*memories, *replaced)}
            added = [
                m for m in self.stored() if m.id in ids and m.now.status in ("active", "proposed")
            ]
            replaced += added
        return replaced

    def _activate(self, memory: Memory, replaced: list[Memory], commit: int, **values: Any) -> None:
        """Activate a memory, and supersede what it replaces."""
        pinned = memory.now.pinned or any(old.now.pinned for old in replaced)
        memory.change(commit, status="active", pinned=pinned, **values)
        for old in replaced:
            old.change(commit, status="superseded")

    def merge(self, new: Memory, into: Memory, seen: tuple[int, int]) -> bool:
        if seen != (new.version, into.version):
            return False
        if new.now.status != "proposed" or into.now.status not in ("active", "proposed"):
            return False
        commit, text = next(_commits), new.now.text
        replaced = self._replaced_by(new, into)
        new.change(commit, status="superseded")
        self._activate(into, replaced, commit, text=text)
        return True

    def forget_user(self, user: str) -> None:
        commit = next(_commits)
        for memory in self.of_user(user):
            memory.change(commit, status="forgotten", pinned=False, bulk=True)

    def of_user(self, user: str) -> list[Memory]:
        hidden = ("forgotten", "rejected")
        return [m for m in self.stored() if m.user == user and m.now.status not in hidden]

    def undo(self, memory: Memory, seen: int) -> bool:
        """Undo the latest decision with all its changes, unless one of them was changed since."""
        if seen != memory.version or memory.version == 1:
            return False
        latest = memory.now.commit
        together = [
            m
            for m in ([memory] if memory.now.bulk else self.stored())
            if any(v.commit == latest for v in m.versions[1:])
        ]
        if any(m.now.commit != latest for m in together):
            return False
        commit = next(_commits)
        for each in together:
            before = each.versions[-2]
            each.versions.append(replace(before, commit=commit, bulk=False))
        return True
