"""Which tables the ledger seals, and which of their columns it does not.

Said here a second time on purpose. A test compares it with what the models say.
"""

from dataclasses import dataclass

# Columns outside the seal: statistics, and the commit itself, which is checked by name.
SEALED: dict[str, frozenset[str]] = {
    "accounts_account": frozenset(),
    "accounts_membership": frozenset({"commit_id"}),
    "accounts_apikey": frozenset({"commit_id", "last_used_at"}),
    "memory_memoryentry": frozenset(
        {"commit_id", "access_count", "last_accessed_at", "last_activated_at"}
    ),
    "memory_memoryedge": frozenset({"commit_id", "last_activated_at"}),
}


@dataclass(frozen=True, slots=True)
class History:
    """A table that keeps every sealed state of the rows of another, in a column `state`."""

    table: str
    owner: str  # the column that names the row


HISTORIES = {"memory_memoryentry": History("memory_memoryversion", "entry_id")}

# Documents that must have postings: table and the collection of its words.
INDEXED = {"memory_memoryentry": "memory"}


def kind_of(table: str) -> str:
    """The table's name in a diff: memory.memoryentry."""
    return table.replace("_", ".", 1)
