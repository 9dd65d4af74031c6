"""Layout of a call: stable prefix, conversation, dynamic tail before the last turn. Pure.

Sections are joined into one message each. A section's tokens are those it adds to the text before
it, so that the parts of a message add up to the message.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from context.archives.history_tool_prompts import PARAGRAPHS
from context.archives.placeholders import TOOL
from context.assembly import prompt_fence
from context.assembly.messages import Message, split_turns
from context.assembly.prompt_inputs import ANTHROPIC, CallInput, Section, Snippet
from context.assembly.token_counts import MESSAGE_OVERHEAD, encode_json
from context.assembly.tool_profiles import OfferedTool, tool_name
from kmapp.text import token_counter

SEPARATOR = "\n\n"
RULES = "rules"
REFERENCES = "references"
_RULES_HEAD = {
    "en": "Rules of this organisation that hold for this call:",
    "zh": "本组织对此次调用生效的规则：",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedSection:
    """A section of the prompt."""

    name: str
    text: str
    tokens: int
    stable: bool


def build_prefix(call_input: CallInput) -> list[RenderedSection]:
    """Return the parts that are equal in every call: stable sections and our notices."""
    language = call_input.language
    notice = Section(name="references_notice", text=prompt_fence.NOTICES[language])
    sections = [section for section in call_input.sections if section.stable and section.text]
    sections.append(notice)
    if any(tool_name(tool) == TOOL for tool in call_input.tools):
        sections.append(Section(name="tool_history", text=PARAGRAPHS[language]))
    return build_parts(sections, stable=True)


def build_tail(call_input: CallInput, snippets: Sequence[Snippet]) -> list[RenderedSection]:
    """Return the parts of this call only: unstable sections, rules and retrieved texts."""
    sections = [section for section in call_input.sections if not section.stable and section.text]
    if call_input.rule_outcome.text:
        text = f"{_RULES_HEAD[call_input.language]}\n{call_input.rule_outcome.text}"
        sections.append(Section(name=RULES, text=text))
    block = prompt_fence.render_block([section.item for section in snippets], call_input.nonce)
    if block:
        sections.append(Section(name=REFERENCES, text=block))
    return build_parts(sections, stable=False)


def build_parts(sections: Sequence[Section], *, stable: bool) -> list[RenderedSection]:
    parts: list[RenderedSection] = []
    text, before = "", 0
    for section in sections:
        text += (SEPARATOR if parts else "") + section.text
        size = MESSAGE_OVERHEAD + token_counter.count_tokens(text)
        added = size - before
        parts.append(
            RenderedSection(name=section.name, text=section.text, tokens=added, stable=stable)
        )
        before = size
    return parts


def count_section_tokens(parts: Sequence[RenderedSection]) -> int:
    return sum(part.tokens for part in parts)


def join_texts(parts: Sequence[RenderedSection]) -> str:
    return SEPARATOR.join(part.text for part in parts)


def build_messages(
    provider: str,
    prefix: Sequence[RenderedSection],
    tail: Sequence[RenderedSection],
    history: Sequence[Message],
) -> list[Message]:
    """Return the messages to send. Anthropic takes the prefix separately, as `system`."""
    messages: list[Message] = []
    if prefix and provider != ANTHROPIC:
        messages.append({"role": "system", "content": join_texts(prefix)})
    turns = split_turns(history)
    start = turns[-1].start if turns else len(history)
    messages += history[:start]
    if tail:
        role = "user" if provider == ANTHROPIC else "system"
        messages.append({"role": role, "content": join_texts(tail)})
    return [*messages, *history[start:]]


def prefix_digest(prefix: Sequence[RenderedSection], tools: Sequence[OfferedTool]) -> str:
    """Return a digest that is equal as long as a provider's cache stays valid."""
    payload = encode_json([join_texts(prefix), [tool.schema for tool in tools]])
    return sha256(payload.encode()).hexdigest()
