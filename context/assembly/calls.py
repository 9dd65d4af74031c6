"""What one model call is made of before it is assembled, and what is found for it. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from context.assembly.fence import Item, rendered
from context.assembly.messages import Message
from kmapp.text import tokens

OPENAI, ANTHROPIC = "openai", "anthropic"


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of the prompt beside the conversation. A stable one stands in the prefix."""

    name: str
    text: str
    stable: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Snippet:
    """Retrieved text, why it was found, and where it stands."""

    source: str  # memory, knowledge, lore
    ref: str
    text: str
    score: float
    trust: str  # trusted, semi_trusted, untrusted
    why: Mapping[str, Any]
    citation: Mapping[str, Any]
    made_of: Sequence[str] = ()  # the things whose texts it joins, when they are several

    @property
    def item(self) -> Item:
        return Item(id=self.ref, source=self.source, trust=self.trust, text=self.text)

    @property
    def tokens(self) -> int:
        return tokens.count(rendered(self.item) + "\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """What the rules say of this call: a text for the prompt, and tools that may not be used."""

    text: str = ""
    barred: tuple[str, ...] = ()
    citations: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Compacted:
    """A summary that stands for the first `covers` messages of a conversation."""

    covers: int
    text: str
    by: str = ""  # the chat model that wrote it; otherwise it is made of what was said


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """All that a call is assembled from: the same material and policy give the same bytes."""

    messages: Sequence[Message]
    window: int  # tokens
    reserve: int  # tokens kept for the answer
    sections: Sequence[Section] = ()
    tools: Sequence[Mapping[str, Any]] = ()
    snippets: Sequence[Snippet] = ()
    bound: Bound = field(default_factory=Bound)
    groups: Mapping[str, str] = field(default_factory=dict)  # of tools, by name
    required_tools: tuple[str, ...] = ()
    profile: str = "full"
    provider: str = OPENAI
    language: str = "en"
    nonce: str = ""
    # Where a tool result can be had again, by the place of its text; and an earlier summary.
    pointers: Mapping[str, UUID] = field(default_factory=dict)
    compacted: Compacted | None = None
    sizes: Sequence[int] = ()  # tokens of each message, where somebody has counted them

    @property
    def budget(self) -> int:
        return self.window - self.reserve
