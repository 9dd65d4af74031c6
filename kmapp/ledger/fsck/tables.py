"""Sealed tables and their unsealed columns.

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
    "memory_memorysettings": frozenset({"commit_id"}),
    "memory_memoryrating": frozenset({"commit_id"}),
    "rules_rule": frozenset({"commit_id"}),
    "rules_rulebook": frozenset({"commit_id", "changes"}),
    "rules_rulefeedback": frozenset({"commit_id"}),
    "rules_rulepromotion": frozenset({"commit_id"}),
    "context_toolresultarchive": frozenset(
        {"commit_id", "load_count", "last_loaded_at", "extractive"}
    ),
    "context_contextsettings": frozenset({"commit_id"}),
    "knowledge_knowledgesource": frozenset({"commit_id", "refreshed_at"}),
    "knowledge_knowledgedocument": frozenset({"commit_id", "state", "error"}),
    "knowledge_knowledgetext": frozenset({"commit_id"}),
    "knowledge_lorebookentry": frozenset({"commit_id"}),
    "memory_memoryexport": frozenset({"commit_id"}),
}


@dataclass(frozen=True, slots=True)
class History:
    """A table that keeps every sealed state of the rows of another, in a column `state`."""

    table: str
    owner: str  # the column that names the row


HISTORIES = {
    "memory_memoryentry": History("memory_memoryversion", "entry_id"),
    "rules_rule": History("rules_ruleversion", "rule_id"),
}


@dataclass(frozen=True, slots=True)
class Indexed:
    """Rows that must have postings in a collection: those of a table that have this value."""

    table: str
    collection: str
    column: str = ""
    value: str = ""


# Documents that must have postings.
INDEXED = (
    Indexed("memory_memoryentry", "memory"),
    Indexed("context_toolresultarchive", "context.archive"),
    Indexed("knowledge_knowledgechunk", "knowledge.1", "index_version", "1"),
    Indexed("knowledge_knowledgechunk", "knowledge.2", "index_version", "2"),
)


def kind_of(table: str) -> str:
    """Return the name of a table in a diff: memory.memoryentry."""
    return table.replace("_", ".", 1)
