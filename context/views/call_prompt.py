"""The prompt of a call as a list of parts, in the order in which it is sent."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from context.assembly.budget import Draft, MessageRow
from context.assembly.messages import (
    list_answered_ids,
    list_calls,
    list_slots,
    message_text,
    split_turns,
)
from context.assembly.token_counts import encode_json
from context.reports import labels

MAX_CHARACTERS = 4_000  # characters of one part on the page


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptPart:
    kind: str  # prefix, message, tail
    title: str
    note: str
    text: str
    left_out: int
    tokens: int


def list_prompt_parts(draft: Draft) -> list[PromptPart]:
    history = [row.message for row in draft.rows]
    turns_ = split_turns(history)
    start = turns_[-1].start if turns_ else len(history)
    return [
        *(_build_part("prefix", part.name, part.text, part.tokens) for part in draft.prefix),
        *(_message_part(row) for row in draft.rows[:start]),
        *(_build_part("tail", part.name, part.text, part.tokens) for part in draft.tail),
        *(_message_part(row) for row in draft.rows[start:]),
    ]


def _build_part(kind: str, title: str, text: str, tokens: int, note: str = "") -> PromptPart:
    left_out = max(0, len(text) - MAX_CHARACTERS)
    shortened = text[:MAX_CHARACTERS]
    return PromptPart(
        kind=kind, title=title, note=note, text=shortened, left_out=left_out, tokens=tokens
    )


def _message_part(row: MessageRow) -> PromptPart:
    text = "\n".join(_message_lines(row.message))
    note = str(labels.STATES[row.state])
    return _build_part("message", str(row.message["role"]), text, row.tokens, note)


def _message_lines(message: Mapping[str, Any]) -> Iterator[str]:
    if message_text(message):
        yield message_text(message)
    for call in list_calls(message):
        yield f"→ {call.name}({encode_json(call.input)})"
    if list_answered_ids(message):
        yield from (slot.text for slot in list_slots([message]))
