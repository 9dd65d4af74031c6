"""Input of one model call before assembly, and what retrieval returned for it. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from context.assembly.messages import Message
from context.assembly.prompt_fence import Item, render_item
from kmapp.text import token_counter

OPENAI, ANTHROPIC = "openai", "anthropic"


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of the prompt outside the conversation; stable ones belong to the prefix."""

    name: str
    text: str
    stable: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Snippet:
    """A retrieved text with its score, its source and the reason for its rank."""

    source: str  # memory, knowledge, lore
    ref: str
    text: str
    score: float
    trust: str  # trusted, semi_trusted, untrusted
    why: Mapping[str, Any]
    citation: Mapping[str, Any]
    made_of: Sequence[str] = ()  # ids of the objects whose texts it joins, if several
    is_excerpt: bool = False  # whether sentences are left out
    label: str = ""  # its id in the prompt, if that is not `ref`

    @property
    def item(self) -> Item:
        return Item(id=self.label or self.ref, source=self.source, trust=self.trust, text=self.text)

    @property
    def tokens(self) -> int:
        return token_counter.count_tokens(render_item(self.item) + "\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleOutcome:
    """Instructions of the rules for this call: a text for the prompt, and denied tools."""

    text: str = ""
    barred: tuple[str, ...] = ()
    citations: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSummary:
    """A summary that replaces the first `covers` messages of a conversation."""

    covers: int
    text: str
    by: str = ""  # the chat model that wrote it; empty if it quotes the messages


@dataclass(frozen=True, slots=True, kw_only=True)
class CallInput:
    """Everything a call is assembled from; equal input and policy give equal bytes."""

    messages: Sequence[Message]
    window: int  # tokens
    reserve: int  # tokens reserved for the output
    sections: Sequence[Section] = ()
    tools: Sequence[Mapping[str, Any]] = ()
    snippets: Sequence[Snippet] = ()
    query: str = ""  # that the snippets answer
    rule_outcome: RuleOutcome = field(default_factory=RuleOutcome)
    groups: Mapping[str, str] = field(default_factory=dict)  # tool name -> group
    required_tools: tuple[str, ...] = ()
    profile: str = "full"
    provider: str = OPENAI
    language: str = "en"
    nonce: str = ""
    # Archive ids by slot key, to load a tool result again; and an earlier summary.
    pointers: Mapping[str, UUID] = field(default_factory=dict)
    compacted: StoredSummary | None = None
    sizes: Sequence[int] = ()  # tokens of each message, if already counted

    @property
    def budget(self) -> int:
        return self.window - self.reserve
