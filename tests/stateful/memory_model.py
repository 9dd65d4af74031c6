"""A model of the memories of one account: plain Python, without a database."""

from collections.abc import Iterable, Mapping
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
    # Bulk runs by their ids: their commits, and whether they were undone.
    runs: dict[str, tuple[int, bool]] = field(default_factory=dict)

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

    def edit(self, memory: Memory, seen: int, text: str) -> bool:
        """Apply an edit of a person, who saw this version."""
        if memory.versions[seen - 1].text == text:
            return True  # nothing changed
        return self.decide(memory, seen, ("active", "proposed"), text=text)

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
            old.change(commit, status="superseded", bulk=values.get("bulk", False))

    def decide_bulk(self, run: str, verb: str, chosen: Mapping[str, int]) -> None:
        """Decide on the proposals among these versions, unless one replaces another."""
        commit = next(_commits)
        self.runs[run] = commit, False
        decided = [
            memory
            for pk, seen in sorted(chosen.items())
            if (memory := self.memories[pk]).version == seen and memory.now.status == "proposed"
        ]
        if verb == "reject":
            for memory in decided:
                memory.change(commit, status="rejected", bulk=True)
            return
        replacing = [
            memory
            for memory in decided
            if any(old.id in chosen for old in self._replaced_by(memory))
        ]
        for memory in decided:
            if memory not in replacing:
                self._activate(memory, self._replaced_by(memory), commit, bulk=True)

    def undo_bulk(self, run: str) -> bool:
        """Restore the memories that have not changed since the run, without halves of pairs."""
        latest, is_undone = self.runs[run]
        if is_undone:
            return False
        self.runs[run] = latest, True
        restored = {memory.id for memory in self.stored() if memory.now.commit == latest}
        pairs = self._pairs(latest)
        while halves := restored & {pk for pair in pairs if not restored >= {*pair} for pk in pair}:
            restored -= halves
        commit = next(_commits)
        for pk in restored:
            memory = self.memories[pk]
            memory.versions.append(replace(memory.versions[-2], commit=commit, bulk=True))
        return True

    def _pairs(self, commit: int) -> list[tuple[str, str]]:
        """Return each proposal with the memory that this commit superseded for it."""
        changed = {
            each.id: version
            for each in self.stored()
            for version in each.versions[1:]
            if version.commit == commit
        }
        return [
            (pk, old)
            for pk in changed
            if (old := self.memories[pk].replaces) in changed
            and changed[old].status == "superseded"
        ]

    def _undone_together(self, memory: Memory) -> list[Memory]:
        """Return the memories that the latest decision about this one changed."""
        latest = memory.now.commit
        if not memory.now.bulk:
            return [m for m in self.stored() if any(v.commit == latest for v in m.versions[1:])]
        pairs = self._pairs(latest)
        group = _follow({memory.id}, [(old, new) for new, old in pairs])
        return [self.memories[pk] for pk in _follow(group, pairs)]

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

    def forget_user(self, run: str, user: str) -> None:
        commit = next(_commits)
        self.runs[run] = commit, False
        for memory in self.of_user(user):
            memory.change(commit, status="forgotten", pinned=False, bulk=True)

    def of_user(self, user: str) -> list[Memory]:
        hidden = ("forgotten", "rejected")
        return [m for m in self.stored() if m.user == user and m.now.status not in hidden]

    def undo(self, memory: Memory, seen: int) -> bool:
        """Undo the latest decision with all its changes, unless one of them was changed since."""
        if seen != memory.version or memory.version == 1:
            return False
        latest, together = memory.now.commit, self._undone_together(memory)
        if any(m.now.commit != latest for m in together):
            return False
        commit = next(_commits)
        for each in together:
            before = each.versions[-2]
            each.versions.append(replace(before, commit=commit, bulk=False))
        return True


def _follow(starts: set[str], pairs: Iterable[tuple[str, str]]) -> set[str]:
    """Return these ids, and those to which pairs lead from them."""
    reached, pairs = {*starts}, [*pairs]
    while added := {new for old, new in pairs if old in reached} - reached:
        reached |= added
    return reached
