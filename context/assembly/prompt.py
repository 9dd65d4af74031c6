"""A call as it is sent: a stable prefix, the conversation, a dynamic tail before the last turn.

Pure. Sections are joined into one message each; a section's tokens are what it adds to the text
before it, so that the parts of a message sum up to the message.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from context.archives.load_tool import PARAGRAPHS
from context.archives.placeholders import TOOL
from context.assembly import fence
from context.assembly.calls import ANTHROPIC, Material, Section, Snippet
from context.assembly.messages import Message, turns
from context.assembly.token_counts import AROUND, compact
from context.assembly.tool_offer import Offered
from kmapp.text import tokens

BETWEEN = "\n\n"
RULES = "rules"
REFERENCES = "references"
_RULES_HEAD = {
    "en": "Rules of this organisation that hold for this call:",
    "zh": "本组织对此次调用生效的规则：",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A section as it stands in its message, with the tokens that it adds."""

    name: str
    text: str
    tokens: int
    stable: bool


def prefix_of(material: Material) -> list[Part]:
    """What stays the same from call to call: the caller's own words, and how to read ours."""
    language = material.language
    notice = Section(name="references_notice", text=fence.NOTICES[language])
    sections = [each for each in material.sections if each.stable and each.text]
    sections.append(notice)
    if any(_is_loader(tool) for tool in material.tools):
        sections.append(Section(name="tool_history", text=PARAGRAPHS[language]))
    return parts_of(sections, stable=True)


def _is_loader(tool: Mapping[str, Any]) -> bool:
    function = tool.get("function")
    named = function.get("name") if isinstance(function, Mapping) else tool.get("name")
    return bool(named == TOOL)


def tail_of(material: Material, snippets: Sequence[Snippet]) -> list[Part]:
    """What is of this call only: the caller's moving parts, rules, and what was found."""
    sections = [each for each in material.sections if not each.stable and each.text]
    if material.bound.text:
        text = f"{_RULES_HEAD[material.language]}\n{material.bound.text}"
        sections.append(Section(name=RULES, text=text))
    block = fence.fenced([each.item for each in snippets], material.nonce)
    if block:
        sections.append(Section(name=REFERENCES, text=block))
    return parts_of(sections, stable=False)


def parts_of(sections: Sequence[Section], *, stable: bool) -> list[Part]:
    parts: list[Part] = []
    text, before = "", 0
    for section in sections:
        text += (BETWEEN if parts else "") + section.text
        size = AROUND + tokens.count(text)
        parts.append(
            Part(name=section.name, text=section.text, tokens=size - before, stable=stable)
        )
        before = size
    return parts


def tokens_of(parts: Sequence[Part]) -> int:
    return sum(part.tokens for part in parts)


def text_of(parts: Sequence[Part]) -> str:
    return BETWEEN.join(part.text for part in parts)


def sent(
    provider: str, prefix: Sequence[Part], tail: Sequence[Part], history: Sequence[Message]
) -> list[Message]:
    """The messages to send. Anthropic takes the prefix beside them, as `system`."""
    messages: list[Message] = []
    if prefix and provider != ANTHROPIC:
        messages.append({"role": "system", "content": text_of(prefix)})
    last = turns(history)
    at = last[-1].start if last else len(history)
    messages += history[:at]
    if tail:
        role = "user" if provider == ANTHROPIC else "system"
        messages.append({"role": role, "content": text_of(tail)})
    return [*messages, *history[at:]]


def prefix_sha256(prefix: Sequence[Part], tools: Sequence[Offered]) -> str:
    """Equal as long as nothing that a provider could cache has changed."""
    said = compact([text_of(prefix), [tool.schema for tool in tools]])
    return sha256(said.encode()).hexdigest()
