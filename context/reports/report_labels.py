"""Labels of the names used in reports."""

from django.utils.translation import gettext_lazy as _

SECTIONS = {
    "system": _("System prompt"),
    "tools_schema": _("Tools"),
    "history": _("Conversation"),
    "tool_results": _("Tool results"),
    "injections": _("Added by caller and rules"),
    "memory_knowledge": _("Memory and knowledge"),
}
ACTIONS = {
    "drop_memory_results": _("Retrieved texts shortened or dropped"),
    "restore_memory_results": _("Retrieved texts restored"),
    "limit_snippets": _("Retrieved texts limited"),
    "prune_tool_results": _("Old tool results shortened"),
    "limit_turns": _("Oldest turns left out"),
    "memory_flush": _("Older messages sent to memory"),
    "auto_compact": _("Older turns summarized"),
    "narrow_tool_profile": _("Fewer tools offered"),
    "bar_tools": _("Tools removed by rules"),
    "drop_erased": _("Texts erased in the meantime left out"),
    "drop_orphans": _("Unpaired tool messages left out"),
    "shorten_query": _("Long message shortened to its ends for the search"),
    "source_not_allowed": _("Source not allowed for this key"),
    "retrieval_failed": _("Source failed"),
    "km_remote": _("Source answered by the remote kmapp"),
    "km_fallback_local": _("Remote kmapp failed, local source used"),
    "km_timeout": _("Source timed out"),
    "km_circuit_open": _("Source skipped after repeated failures"),
    "km_provider_error": _("Source did not respond"),
    "km_memory_off": _("Memory is turned off for agents in this account"),
}
SOURCES = {
    "memory": _("Memory"),
    "knowledge": _("Knowledge"),
    "lore": _("Lore"),
    "rules": _("Rules"),
}
STATES = {
    "whole": "",
    "soft_trim": _("shortened"),
    "hard_clear": _("replaced by a placeholder"),
    "summary": _("summary"),
}
POLICY = {
    "protected_turns": _("Recent turns that are never shortened"),
    "least_turns": _("Minimum turns kept before summarizing"),
    "prune": _("Old tool results"),
    "head": _("Characters kept at the start of a shortened result"),
    "tail": _("Characters kept at the end of a shortened result"),
    "unprunable_tools": _("Tools whose results are never shortened"),
    "compact": _("Summarize older turns"),
    "summary_tokens": _("Maximum tokens per summary"),
    "snippet_tokens": _("Maximum tokens for retrieved texts"),
    "most_snippet_tokens": _(
        "Maximum tokens for retrieved texts, with tokens freed by fewer tools"
    ),
    "most_snippets": _("Maximum number of retrieved texts"),
    "min_score": _("Minimum score (0 to 1)"),
    "strict_tools": _("Strict tool schemas"),
    "short_ids": _("Numbers instead of IDs for retrieved texts"),
    "retrieval_ms": _("Retrieval timeout (ms)"),
}
SIDE = {
    "window": _("Context window"),
    "reserve": _("Reserved for output"),
    "profile": _("Tool profile"),
    "variant": _("Variant (repeats retrieval)"),
}
PRUNING = {
    "soft_trim,hard_clear": _("shortened, then replaced by a placeholder"),
    "soft_trim": _("shortened"),
    "hard_clear": _("replaced by a placeholder"),
    "none": _("left unchanged"),
}
