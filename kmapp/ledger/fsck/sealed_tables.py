"""Sealed tables and their unsealed columns.

They repeat what the models declare on purpose; a test compares both.
"""

from dataclasses import dataclass

# Unsealed columns are statistics, and the id of the commit, which is checked separately.
SEALED: dict[str, frozenset[str]] = {
    "accounts_account": frozenset(),
    "accounts_membership": frozenset({"commit_id"}),
    "accounts_invitation": frozenset({"commit_id"}),
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
    "memory_judgement": frozenset({"commit_id"}),
    "memory_ranking": frozenset({"commit_id"}),
    "memory_memoryexport": frozenset({"commit_id"}),
    "company_companysignin": frozenset({"commit_id"}),
    "company_companyidentity": frozenset({"commit_id"}),
    "webhooks_webhook": frozenset({"commit_id", "last_attempt_at", "last_error"}),
}


@dataclass(frozen=True, slots=True)
class StateHistory:
    """A table with every sealed state of the rows of another table, in the column `state`."""

    table: str
    owner: str  # the column that names the row


HISTORIES = {
    "memory_memoryentry": StateHistory("memory_memoryversion", "entry_id"),
    "rules_rule": StateHistory("rules_ruleversion", "rule_id"),
}


@dataclass(frozen=True, slots=True)
class IndexedTable:
    """Rows that must have postings in a collection: those of a table that have this value."""

    table: str
    collection: str
    column: str = ""
    value: str = ""


INDEXED_TABLES = (
    IndexedTable("memory_memoryentry", "memory"),
    IndexedTable("context_toolresultarchive", "context.archive"),
    IndexedTable("knowledge_knowledgechunk", "knowledge.1", "index_version", "1"),
    IndexedTable("knowledge_knowledgechunk", "knowledge.2", "index_version", "2"),
)


def get_object_type(table: str) -> str:
    """Return the name of a table in a diff: memory.memoryentry."""
    return table.replace("_", ".", 1)
