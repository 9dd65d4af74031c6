"""Fitting a call into its budget, step by step, the dearest and least important first. Pure.

The ladder: drop retrieved snippets, prune old tool results, shorten the history, sum it up, narrow
the tools. Each step that is taken is recorded with the tokens before and after it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from context.archives.placeholder_swap import settled, standing_for, tool_of
from context.assembly.calls import Compacted, Material, Snippet
from context.assembly.messages import Message, Slot, calls_of, replaced, turns
from context.assembly.policies import Policy
from context.assembly.prompt import Part, prefix_of, tail_of, tokens_of
from context.assembly.pruning import hard_clear, soft_trim
from context.assembly.token_counts import of_message
from context.assembly.tool_offer import Offered, narrower, offered, within
from context.summaries.compaction import summarised

EXTRACTIVE = "extractive"  # the summary is made of what was said
SUMMARY = -1  # where the summary of earlier messages came from


class DoesNotFit(Exception):
    """What may not give way is more than the budget."""

    def __init__(self, needed: int, budget: int, sections: Mapping[str, int]) -> None:
        super().__init__(f"{needed} tokens are needed, {budget} are there")
        self.needed, self.budget, self.sections = needed, budget, dict(sections)


@dataclass(frozen=True, slots=True)
class Row:
    """A message of the call, and where it stood in the conversation."""

    at: int
    message: Message
    tokens: int
    state: str = "whole"  # whole, soft_trim, hard_clear, summary


def key_of(slot: Slot) -> str:
    """The place of a tool's text, as JSON can name it."""
    return ".".join(map(str, (slot.at, *slot.path)))


class Draft:
    """A call on its way into its budget."""

    def __init__(self, material: Material, policy: Policy) -> None:
        self.material, self.policy = material, policy
        self.decisions: list[dict[str, Any]] = []
        self.prefix = prefix_of(material)
        sizes = material.sizes or [of_message(message) for message in material.messages]
        sized = enumerate(zip(material.messages, sizes, strict=True))
        self.rows = [Row(at, message, size) for at, (message, size) in sized]
        self.offer()
        self.profile = material.profile
        self.compacted: Compacted | None = None
        self.pruned: list[Slot] = []
        self.name_of = tool_of(material.messages)
        self.tools = within(self.all_tools, self.profile, self.needed_tools())
        self.found = sorted(material.snippets, key=lambda s: (-s.score, s.source, s.ref))
        self.snippets: list[Snippet] = []
        self.tail: list[Part] = []
        self.put(self.affordable())

    def offer(self) -> None:
        """All tools but those that the rules bar."""
        material = self.material
        tools = offered(material.tools, material.groups, strict=self.policy.strict_tools)
        barred = set(material.bound.barred)
        self.all_tools: list[Offered] = [tool for tool in tools if tool.name not in barred]
        if out := sorted({tool.name for tool in tools} & barred):
            before = sum(tool.tokens for tool in tools)
            after = sum(tool.tokens for tool in self.all_tools)
            self.decisions.append(
                {
                    "action": "bar_tools",
                    "tools": out,
                    "tokens_before": before,
                    "tokens_after": after,
                }
            )

    def affordable(self) -> list[Snippet]:
        """The best of what was found, as far as retrieval may go."""
        cap, size, kept = self.cap(), 0, []
        for snippet in self.found[: self.policy.most_snippets]:
            if size + snippet.tokens <= cap:
                kept.append(snippet)
                size += snippet.tokens
        if len(kept) < len(self.found):
            found = len(self.found)
            self.decisions.append(
                {"action": "limit_snippets", "found": found, "kept": len(kept), "cap": cap}
            )
        return kept

    def cap(self) -> int:
        """Tokens for retrieval: what a narrower profile leaves over counts, up to a limit."""
        policy = self.policy
        freed = sum(t.tokens for t in self.all_tools) - sum(t.tokens for t in self.tools)
        cap = min(policy.snippet_tokens + freed, policy.most_snippet_tokens)
        return max(cap, policy.snippet_tokens)

    def put(self, snippets: list[Snippet]) -> None:
        self.snippets, self.tail = snippets, tail_of(self.material, snippets)

    @property
    def total(self) -> int:
        tools = sum(tool.tokens for tool in self.tools)
        rows = sum(row.tokens for row in self.rows)
        return tokens_of(self.prefix) + tools + rows + tokens_of(self.tail)

    @property
    def over(self) -> int:
        return self.total - self.material.budget

    def needed_tools(self) -> frozenset[str]:
        """Those that the caller insists on, and those that the conversation has calls of."""
        called = {call.name for row in self.rows for call in calls_of(row.message)}
        return frozenset(called) | frozenset(self.material.required_tools)

    def decide(self, action: str, before: int, **more: Any) -> None:
        said = {"action": action, **more, "tokens_before": before, "tokens_after": self.total}
        self.decisions.append(said)


# --- The ladder -----------------------------------------------------------------------------------


def drop_snippets(draft: Draft) -> None:
    """The weakest go first."""
    before, dropped = draft.total, []
    left = list(draft.snippets)
    while left and draft.over > 0:
        over = draft.over
        while left and over > 0:
            over -= left[-1].tokens
            dropped.append(left.pop())
        draft.put(left)
        left = list(left)
    if dropped:
        refs = [{"source": each.source, "ref": each.ref} for each in dropped]
        draft.decide("drop_memory_results", before, dropped=refs)


def prune(draft: Draft) -> None:
    """Old tool results are trimmed, then cleared, oldest first; the last turns are left alone."""
    for strategy in draft.policy.prune:
        before, pruned = draft.total, 0
        over = draft.over
        for slot in _prunable(draft):
            if over <= 0:
                break
            saved = _prune(draft, slot, strategy)
            over -= saved
            pruned += saved > 0
        if pruned:
            draft.decide(
                "prune_tool_results",
                before,
                strategy=strategy,
                protected_turns=draft.policy.protected_turns,
                results=pruned,
            )


def _prunable(draft: Draft) -> list[Slot]:
    return [
        slot
        for slot in settled(draft.material.messages, draft.policy.protected_turns)
        if standing_for(slot.text) is None
        and draft.name_of(slot) not in draft.policy.unprunable_tools
    ]


def _prune(draft: Draft, slot: Slot, strategy: str) -> int:
    """The tokens that this saves."""
    material, policy, row = draft.material, draft.policy, draft.rows[slot.at]
    archive = material.pointers.get(key_of(slot))
    language = material.language
    if strategy == "soft_trim":
        text = soft_trim(
            slot.text, head=policy.head, tail=policy.tail, language=language, archive=archive
        )
    else:
        tool = draft.name_of(slot)
        text = hard_clear(tool, len(slot.text), language=language, archive=archive)
    [message] = replaced([row.message], {(0, slot.path): text})
    size = of_message(message)
    if size >= row.tokens:
        return 0
    draft.rows[slot.at] = Row(slot.at, message, size, strategy)
    draft.pruned.append(slot)
    return row.tokens - size


def limit_turns(draft: Draft) -> None:
    """The oldest turns go, down to a number that is worth summing up, or to the protected ones."""
    before, policy = draft.total, draft.policy
    least = max(policy.protected_turns, policy.least_turns if policy.compact else 0)
    whole = turns(draft.material.messages)
    over, dropped = draft.over, 0
    while over > 0 and len(whole) - dropped > least:
        over -= sum(draft.rows[at].tokens for at in whole[dropped])
        dropped += 1
    if dropped:
        draft.rows = draft.rows[whole[dropped].start :]
        draft.decide("limit_turns", before, dropped=dropped, turns=len(whole) - dropped)


def compact(draft: Draft) -> None:
    """A summary in the place of all that stands before the protected turns."""
    material, policy = draft.material, draft.policy
    whole = turns(material.messages)
    if not policy.compact or len(whole) <= policy.protected_turns:
        return
    start = whole[-policy.protected_turns].start
    first = draft.rows[0].at
    known = material.compacted
    if known and first <= known.covers <= start and _replace(draft, known, reused=True):
        return
    text = summarised(material.messages[:start], material.language, policy.summary_tokens)
    _replace(draft, Compacted(covers=start, text=text), reused=False)


def _replace(draft: Draft, summary: Compacted, *, reused: bool) -> bool:
    """Whether the call fits with this summary, or at least needs less."""
    before, rows = draft.total, draft.rows
    message = {"role": "user", "content": summary.text}
    head = Row(SUMMARY, message, of_message(message), "summary")
    draft.rows = [head, *(row for row in rows if row.at >= summary.covers)]
    if draft.total >= before or (reused and draft.over > 0):
        draft.rows = rows
        return False
    draft.compacted = summary
    by = summary.by or EXTRACTIVE
    draft.decide("auto_compact", before, messages=summary.covers, reused=reused, summary_by=by)
    return True


def narrow_tools(draft: Draft) -> None:
    """The widest narrower profile that fits; what it leaves over brings snippets back."""
    before, was = draft.total, draft.profile
    needed = draft.needed_tools()
    for name in narrower(draft.all_tools, draft.profile, needed):
        draft.profile = name
        draft.tools = within(draft.all_tools, name, needed)
        if draft.over <= 0:
            break
    if draft.profile != was:
        draft.decide("narrow_tool_profile", before, profile_before=was, profile_after=draft.profile)
        restore_snippets(draft)


def restore_snippets(draft: Draft) -> None:
    before, there, cap = draft.total, len(draft.snippets), draft.cap()
    for snippet in draft.found:
        held = draft.snippets
        size = sum(each.tokens for each in held)
        if snippet in held or size + snippet.tokens > cap:
            continue
        draft.put([*held, snippet])
        if draft.over > 0:
            draft.put(held)
    if len(draft.snippets) > there:
        restored = len(draft.snippets) - there
        draft.decide("restore_memory_results", before, restored=restored, cap=cap)


LADDER = (drop_snippets, prune, limit_turns, compact, narrow_tools)


def fitted(material: Material, policy: Policy) -> Draft:
    """The call within its budget. Raises DoesNotFit when what is protected is too much."""
    draft = Draft(material, policy)
    for step in LADDER:
        if draft.over > 0:
            step(draft)
    if draft.over > 0:
        sections = {
            "prefix": tokens_of(draft.prefix),
            "tools": sum(tool.tokens for tool in draft.tools),
            "messages": sum(row.tokens for row in draft.rows),
            "tail": tokens_of(draft.tail),
        }
        raise DoesNotFit(draft.total, material.budget, sections)
    return draft
