"""Labels of the names used in reports."""

from django.utils.translation import gettext_lazy as _

SECTIONS = {
    "system": _("System prompt"),
    "tools_schema": _("Tools"),
    "history": _("Conversation"),
    "tool_results": _("Tool results"),
    "injections": _("Added by the caller and by rules"),
    "memory_knowledge": _("Memory and knowledge"),
}
ACTIONS = {
    "drop_memory_results": _("Retrieved texts were dropped"),
    "restore_memory_results": _("Retrieved texts came back"),
    "limit_snippets": _("Fewer texts than were found"),
    "prune_tool_results": _("Old tool results were shortened"),
    "limit_turns": _("The oldest turns were left out"),
    "memory_flush": _("Older messages were handed to memory"),
    "auto_compact": _("Older turns were summed up"),
    "narrow_tool_profile": _("Fewer tools were offered"),
    "bar_tools": _("Rules took tools away"),
    "drop_orphans": _("Tool messages without their other half were left out"),
    "source_not_allowed": _("The key may not read a source"),
    "retrieval_failed": _("A source failed"),
    "km_remote": _("Another kmapp answered for a source"),
    "km_fallback_local": _("Another kmapp did not answer: the source here did"),
    "km_timeout": _("A source took too long"),
    "km_circuit_open": _("A source that keeps failing was left alone"),
    "km_provider_error": _("A source did not answer"),
    "km_memory_off": _("Agents do not use memory here"),
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
    "hard_clear": _("moved out"),
    "summary": _("summary"),
}
POLICY = {
    "protected_turns": _("Turns that are never shortened"),
    "least_turns": _("Turns kept before older ones are summed up"),
    "prune": _("Old tool results are"),
    "head": _("Characters kept at the beginning of a shortened result"),
    "tail": _("Characters kept at its end"),
    "unprunable_tools": _("Tools whose results are never shortened"),
    "compact": _("Older turns are summed up"),
    "summary_tokens": _("Tokens of a summary, at most"),
    "snippet_tokens": _("Tokens for what is found"),
    "most_snippet_tokens": _("The same, with what narrower tools leave over"),
    "most_snippets": _("Texts that are found, at most"),
    "min_score": _("Least score of what is found, from 0 to 1"),
    "strict_tools": _("Tool schemas are made strict"),
    "retrieval_ms": _("Milliseconds that are waited for what is found"),
}
SIDE = {
    "window": _("Context window"),
    "reserve": _("Kept for the answer"),
    "profile": _("Tool profile"),
    "variant": _("Variant, asked anew"),
}
PRUNING = {
    "soft_trim,hard_clear": _("shortened, then moved out"),
    "soft_trim": _("shortened"),
    "hard_clear": _("moved out"),
    "none": _("left alone"),
}
