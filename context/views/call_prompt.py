"""A call as people read it: every section and message of the prompt, in the order it is sent."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from context.assembly.budget import Draft, Row
from context.assembly.messages import calls_of, results_of, slots, turns, words_of
from context.assembly.token_counts import compact
from context.reports import labels

LONGEST = 4_000  # characters of one part that are shown


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptPart:
    """One piece of the prompt."""

    kind: str  # prefix, message, tail
    title: str
    note: str
    text: str
    left_out: int
    tokens: int


def prompt_of(draft: Draft) -> list[PromptPart]:
    history = [row.message for row in draft.rows]
    last = turns(history)
    at = last[-1].start if last else len(history)
    return [
        *(_part("prefix", each.name, each.text, each.tokens) for each in draft.prefix),
        *(_message(row) for row in draft.rows[:at]),
        *(_part("tail", each.name, each.text, each.tokens) for each in draft.tail),
        *(_message(row) for row in draft.rows[at:]),
    ]


def _part(kind: str, title: str, text: str, tokens: int, note: str = "") -> PromptPart:
    left_out = max(0, len(text) - LONGEST)
    shown = text[:LONGEST]
    return PromptPart(
        kind=kind, title=title, note=note, text=shown, left_out=left_out, tokens=tokens
    )


def _message(row: Row) -> PromptPart:
    text = "\n".join(_said(row.message))
    note = str(labels.STATES[row.state])
    return _part("message", str(row.message["role"]), text, row.tokens, note)


def _said(message: Mapping[str, Any]) -> Iterator[str]:
    if words_of(message):
        yield words_of(message)
    for call in calls_of(message):
        yield f"→ {call.name}({compact(call.input)})"
    if results_of(message):
        yield from (slot.text for slot in slots([message]))
