"""Audiences of memories. Workers relate only memories of the same audience."""

from typing import NamedTuple, Self

from django.db.models import F, Q

from memory.models import MemoryEntry

# Condition of edges between memories of the same audience, equivalent to `Audience.fields`. Agents
# can write edges between audiences.
SAME_AUDIENCE = Q(src__scope=F("dst__scope"), src__visibility=F("dst__visibility")) & (
    Q(dst__visibility=MemoryEntry.Visibility.ACCOUNT)
    | Q(src__user_id=F("dst__user_id"), src__agent_id=F("dst__agent_id"))
    & (
        Q(dst__visibility=MemoryEntry.Visibility.USER)
        | Q(dst__run_id="")
        | Q(src__run_id=F("dst__run_id"))
    )
)


class Audience(NamedTuple):
    """The narrowest owner that all viewers of a memory share."""

    scope: str
    visibility: str
    user_id: str
    agent_id: str
    run_id: str

    @classmethod
    def of(cls, scope: str, visibility: str, user_id: str, agent_id: str, run_id: str) -> Self:
        if visibility == MemoryEntry.Visibility.ACCOUNT:
            return cls(scope, visibility, "", "", "")
        visible_run = run_id if visibility == MemoryEntry.Visibility.CONVERSATION else ""
        return cls(scope, visibility, user_id, agent_id, visible_run)

    @classmethod
    def of_entry(cls, entry: MemoryEntry) -> Self:
        return cls.of(entry.scope, entry.visibility, entry.user_id, entry.agent_id, entry.run_id)

    @property
    def fields(self) -> dict[str, str]:
        """Return the column values of memories with this audience."""
        if self.visibility == MemoryEntry.Visibility.ACCOUNT:
            return {"scope": self.scope, "visibility": self.visibility}
        values = self._asdict()
        return values if self.run_id else {k: v for k, v in values.items() if k != "run_id"}
