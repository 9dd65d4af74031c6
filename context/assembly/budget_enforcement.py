"""Reduction of a call to its token budget, cheapest loss first. Pure.

The steps: drop retrieved snippets, prune old tool results, drop old turns, summarise history,
narrow the tools. Each step that changes the call is recorded with the tokens before and after.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from context.archives.placeholders import parse_passages_header, parse_placeholder
from context.archives.tool_result_selection import list_older_slots, map_tool_names
from context.assembly.assembly_policy import AssemblyPolicy
from context.assembly.messages import Message, Slot, list_calls, replace_texts, split_turns
from context.assembly.prompt import RenderedSection, build_prefix, build_tail, count_section_tokens
from context.assembly.prompt_inputs import CallInput, Snippet, StoredSummary
from context.assembly.snippet_excerpts import select_snippets
from context.assembly.token_counts import count_message
from context.assembly.tool_profiles import (
    OfferedTool,
    filter_by_profile,
    list_narrower_profiles,
    offer_tools,
)
from context.assembly.tool_result_trimming import hard_clear, soft_trim
from context.summaries.extractive import summarise_turns
from kmapp.text.token_counter import count_tokens

EXTRACTIVE = "extractive"  # the summary quotes the messages; no model wrote it
SUMMARY_INDEX = -1  # the index of the row that holds the summary of earlier messages


class BudgetExceeded(Exception):
    def __init__(self, needed: int, budget: int, sections: Mapping[str, int]) -> None:
        super().__init__(f"The call needs {needed} tokens; the budget is {budget}.")
        self.needed, self.budget, self.sections = needed, budget, dict(sections)


@dataclass(frozen=True, slots=True)
class MessageRow:
    index: int
    message: Message
    tokens: int
    state: str = "whole"  # whole, soft_trim, hard_clear, summary


def slot_key(slot: Slot) -> str:
    """Return the slot's position as a JSON key."""
    return ".".join(map(str, (slot.index, *slot.path)))


class Draft:
    """A call while it is fitted into its budget."""

    def __init__(self, call_input: CallInput, policy: AssemblyPolicy) -> None:
        self.call_input, self.policy = call_input, policy
        self.decisions: list[dict[str, Any]] = []
        self.prefix = build_prefix(call_input)
        sizes = call_input.sizes or [count_message(message) for message in call_input.messages]
        sized = enumerate(zip(call_input.messages, sizes, strict=True))
        self.rows = [MessageRow(index, message, size) for index, (message, size) in sized]
        self._offer_tools()
        self.profile = call_input.profile
        self.compacted: StoredSummary | None = None
        self.pruned: list[Slot] = []
        self.tool_name = map_tool_names(call_input.messages)
        self.tools = filter_by_profile(self.all_tools, self.profile, self.needed_tools())
        self.candidates = sorted(call_input.snippets, key=lambda s: (-s.score, s.source, s.ref))
        if policy.short_ids:
            self.candidates = _number_snippets(self.candidates)  # for the sizes
        self.snippets: list[Snippet] = []
        self.tail: list[RenderedSection] = []
        self.set_snippets(self._limit_snippets())

    def _offer_tools(self) -> None:
        """Offer all tools except those that the rules deny."""
        call_input = self.call_input
        tools = offer_tools(call_input.tools, call_input.groups, strict=self.policy.strict_tools)
        barred = set(call_input.rule_outcome.barred)
        self.all_tools: list[OfferedTool] = [tool for tool in tools if tool.name not in barred]
        if denied := sorted({tool.name for tool in tools} & barred):
            sizes = [sum(tool.tokens for tool in group) for group in (tools, self.all_tools)]
            change = dict(zip(("tokens_before", "tokens_after"), sizes, strict=True))
            self.decisions.append({"action": "bar_tools", "tools": denied, **change})

    def _limit_snippets(self) -> list[Snippet]:
        """Return the best candidates within the limits for retrieval."""
        limit = self.snippet_limit()
        selected = self.select_snippets(limit)
        shortened = sum(snippet.is_excerpt for snippet in selected)
        if len(selected) < len(self.candidates) or shortened:
            counts = {"found": len(self.candidates), "kept": len(selected), "shortened": shortened}
            self.decisions.append({"action": "limit_snippets", **counts, "cap": limit})
        return selected

    def select_snippets(self, limit: int) -> list[Snippet]:
        """Return the best candidates within this number of tokens, some as excerpts."""
        candidates = self.candidates[: self.policy.most_snippets]
        return select_snippets(candidates, self.call_input.query, limit)

    def snippet_limit(self) -> int:
        """Return the tokens for retrieval, including those that a narrower profile frees."""
        policy = self.policy
        freed = sum(t.tokens for t in self.all_tools) - sum(t.tokens for t in self.tools)
        cap = min(policy.snippet_tokens + freed, policy.most_snippet_tokens)
        return max(cap, policy.snippet_tokens)

    def set_snippets(self, snippets: list[Snippet]) -> None:
        self.snippets = _number_snippets(snippets) if self.policy.short_ids else snippets
        self.tail = build_tail(self.call_input, self.snippets)

    @property
    def total(self) -> int:
        tools = sum(tool.tokens for tool in self.tools)
        rows = sum(row.tokens for row in self.rows)
        return count_section_tokens(self.prefix) + tools + rows + count_section_tokens(self.tail)

    @property
    def excess(self) -> int:
        return self.total - self.call_input.budget

    def needed_tools(self) -> frozenset[str]:
        """Return the tools that the caller requires or that the conversation calls."""
        called = {call.name for row in self.rows for call in list_calls(row.message)}
        return frozenset(called) | frozenset(self.call_input.required_tools)

    def record(self, action: str, before: int, **more: Any) -> None:
        decision = {"action": action, **more, "tokens_before": before, "tokens_after": self.total}
        self.decisions.append(decision)


def _number_snippets(snippets: Sequence[Snippet]) -> list[Snippet]:
    """Label each snippet with its number in the prompt, from 1."""
    return [replace(each, label=str(number)) for number, each in enumerate(snippets, start=1)]


# --- Steps ----------------------------------------------------------------------------------------


def drop_snippets(draft: Draft) -> None:
    """Shorten retrieved texts, and drop those with the lowest scores, until the call fits."""
    before, snippets_before = draft.total, draft.snippets
    while draft.snippets and draft.excess > 0:
        current = draft.snippets
        remaining = draft.select_snippets(max(0, _size(current) - draft.excess))
        # A joined text can have more tokens than its parts; drop one to make progress.
        draft.set_snippets(remaining if _size(remaining) < _size(current) else current[:-1])
    if draft.snippets != snippets_before:
        selected = {snippet.ref for snippet in draft.snippets}
        dropped = [snippet for snippet in snippets_before if snippet.ref not in selected]
        refs = [{"source": snippet.source, "ref": snippet.ref} for snippet in dropped]
        shortened = sum(snippet.is_excerpt for snippet in draft.snippets)
        draft.record("drop_memory_results", before, dropped=refs, shortened=shortened)


def _size(snippets: Sequence[Snippet]) -> int:
    return sum(snippet.tokens for snippet in snippets)


def prune_tool_results(draft: Draft) -> None:
    """Trim, then clear old tool results, oldest first; the last turns are protected."""
    slots, current = _list_prunable_slots(draft), dict[Slot, str]()
    for strategy in draft.policy.prune:
        before, over = draft.total, draft.excess
        shorter: dict[Slot, str] = {}
        for slot in slots:
            if over <= 0:
                break
            text = _shorten(draft, slot, strategy)
            saved = count_tokens(current.get(slot, slot.text)) - count_tokens(text)
            if saved > 0:
                over -= saved
                shorter[slot] = text
        if shorter:
            current |= shorter
            draft.pruned += shorter
            texts = {(slot.index, slot.path): text for slot, text in shorter.items()}
            messages = replace_texts([row.message for row in draft.rows], texts)
            for index in {slot.index for slot in shorter}:
                size = count_message(messages[index])
                draft.rows[index] = MessageRow(index, messages[index], size, strategy)
            turns = draft.policy.protected_turns
            details = {"strategy": strategy, "protected_turns": turns, "results": len(shorter)}
            draft.record("prune_tool_results", before, **details)


def _list_prunable_slots(draft: Draft) -> list[Slot]:
    return [
        slot
        for slot in list_older_slots(draft.call_input.messages, draft.policy.protected_turns)
        if parse_placeholder(slot.text) is None
        and draft.tool_name(slot) not in draft.policy.unprunable_tools
    ]


def _shorten(draft: Draft, slot: Slot, strategy: str) -> str:
    policy, language = draft.policy, draft.call_input.language
    archive = draft.call_input.pointers.get(slot_key(slot)) or parse_passages_header(slot.text)
    if strategy == "soft_trim":
        return soft_trim(
            slot.text, head=policy.head, tail=policy.tail, language=language, archive=archive
        )
    return hard_clear(draft.tool_name(slot), len(slot.text), language=language, archive=archive)


def limit_turns(draft: Draft) -> None:
    """Drop the oldest turns, down to the number to summarise or the protected turns."""
    before, policy = draft.total, draft.policy
    min_turns = max(policy.protected_turns, policy.least_turns if policy.compact else 0)
    all_turns = split_turns(draft.call_input.messages)
    over, dropped = draft.excess, 0
    while over > 0 and len(all_turns) - dropped > min_turns:
        over -= sum(draft.rows[index].tokens for index in all_turns[dropped])
        dropped += 1
    if dropped:
        draft.rows = draft.rows[all_turns[dropped].start :]
        draft.record("limit_turns", before, dropped=dropped, turns=len(all_turns) - dropped)


def compact_history(draft: Draft) -> None:
    """Replace everything before the protected turns by a summary."""
    call_input, policy = draft.call_input, draft.policy
    all_turns = split_turns(call_input.messages)
    if not policy.compact or len(all_turns) <= policy.protected_turns:
        return
    start = all_turns[-policy.protected_turns].start
    first = draft.rows[0].index
    existing = call_input.compacted
    reusable = existing if existing and first <= existing.covers <= start else None
    if reusable and _apply_summary(draft, reusable, reused=True):
        return
    text = summarise_turns(call_input.messages[:start], call_input.language, policy.summary_tokens)
    _apply_summary(draft, StoredSummary(covers=start, text=text), reused=False)


def _apply_summary(draft: Draft, summary: StoredSummary, *, reused: bool) -> bool:
    """Apply the summary if the call then fits or at least shrinks; return whether it did."""
    before, rows = draft.total, draft.rows
    message = {"role": "user", "content": summary.text}
    head = MessageRow(SUMMARY_INDEX, message, count_message(message), "summary")
    draft.rows = [head, *(row for row in rows if row.index >= summary.covers)]
    if draft.total >= before or (reused and draft.excess > 0):
        draft.rows = rows
        return False
    draft.compacted = summary
    by = summary.by or EXTRACTIVE
    draft.record("auto_compact", before, messages=summary.covers, reused=reused, summary_by=by)
    return True


def narrow_tools(draft: Draft) -> None:
    """Choose the widest profile that fits; restore snippets with the tokens it frees."""
    before, profile_before = draft.total, draft.profile
    needed = draft.needed_tools()
    for name in list_narrower_profiles(draft.all_tools, draft.profile, needed):
        draft.profile = name
        draft.tools = filter_by_profile(draft.all_tools, name, needed)
        if draft.excess <= 0:
            break
    if draft.profile != profile_before:
        profiles = {"profile_before": profile_before, "profile_after": draft.profile}
        draft.record("narrow_tool_profile", before, **profiles)
        restore_snippets(draft)


def restore_snippets(draft: Draft) -> None:
    """Restore retrieved texts with the tokens that remain, within the limits for retrieval."""
    if draft.excess >= 0:
        return
    before, snippets_before, cap = draft.total, draft.snippets, draft.snippet_limit()
    limit = min(cap, _size(snippets_before) - draft.excess)
    draft.set_snippets(draft.select_snippets(limit))
    while draft.excess > 0 and limit > 0:
        limit -= draft.excess
        draft.set_snippets(draft.select_snippets(limit))
    if _size(draft.snippets) <= _size(snippets_before):
        draft.set_snippets(snippets_before)
        return
    restored = len(draft.snippets) - len(snippets_before)
    draft.record("restore_memory_results", before, restored=restored, cap=cap)


STEPS = (drop_snippets, prune_tool_results, limit_turns, compact_history, narrow_tools)


def fit_into_budget(call_input: CallInput, policy: AssemblyPolicy) -> Draft:
    """Return the call within its budget. Raises BudgetExceeded."""
    draft = Draft(call_input, policy)
    for step in STEPS:
        if draft.excess > 0:
            step(draft)
    if draft.excess > 0:
        sections = {
            "prefix": count_section_tokens(draft.prefix),
            "tools": sum(tool.tokens for tool in draft.tools),
            "messages": sum(row.tokens for row in draft.rows),
            "tail": count_section_tokens(draft.tail),
        }
        raise BudgetExceeded(draft.total, call_input.budget, sections)
    return draft
