"""Selection of the tool results to replace by placeholders, and of those to load again. Pure."""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from uuid import UUID

from context.archives.placeholders import parse_passages_header, parse_placeholder
from context.assembly.messages import (
    Message,
    Path,
    Slot,
    ToolCall,
    list_calls,
    list_slots,
    split_turns,
)

Position = tuple[int, Path]

# Phrases that refer to an earlier part of the conversation.
_EARLIER = re.compile(
    r"之前|刚才|刚刚|上次|上面|前面|先前|早些时候|你说过|提到过|"
    r"\b(?:earlier|before|previous(?:ly)?|last time|above|again|you (?:said|found|mentioned))\b",
    re.IGNORECASE,
)


def slot_position(slot: Slot) -> Position:
    return slot.index, slot.path


def map_calls(messages: Sequence[Message]) -> Callable[[Slot], ToolCall | None]:
    """Return a function from a slot to its call: the last one before it, if several have its id."""
    by_id: dict[str, list[tuple[int, ToolCall]]] = defaultdict(list)
    for index, message in enumerate(messages):
        for call in list_calls(message):
            by_id[call.id].append((index, call))

    def find_call(slot: Slot) -> ToolCall | None:
        calls = by_id.get(slot.call_id)
        if not calls:
            return None
        place = bisect_left(calls, slot.index, key=itemgetter(0))
        return calls[max(0, place - 1)][1]

    return find_call


def map_tool_names(messages: Sequence[Message]) -> Callable[[Slot], str]:
    """Return a function from a slot to the name of its tool."""
    find_call = map_calls(messages)

    def find_name(slot: Slot) -> str:
        call = find_call(slot)
        name = call.name if call else ""
        return name or str(messages[slot.index].get("name") or "unknown_tool")

    return find_name


def list_older_slots(messages: Sequence[Message], keep_turns: int) -> list[Slot]:
    recent = split_turns(messages)[-keep_turns:] if keep_turns else []
    first = recent[0].start if recent else len(messages)
    return [slot for slot in list_slots(messages) if slot.index < first]


def list_oversized_slots(
    messages: Sequence[Message], keep_turns: int, threshold: Callable[[str], int]
) -> list[Slot]:
    """Return the results to archive: too long, and not placeholders already."""
    name = map_tool_names(messages)
    return [
        slot
        for slot in list_older_slots(messages, keep_turns)
        if len(slot.text) > threshold(name(slot)) and find_archive_id(slot.text) is None
    ]


def find_archive_id(text: str) -> UUID | None:
    """Return the archive that a placeholder, or the passages of one, refer to."""
    return parse_placeholder(text) or parse_passages_header(text)


def find_references(messages: Sequence[Message]) -> dict[UUID, list[Slot]]:
    slots_by_archive: dict[UUID, list[Slot]] = {}
    for slot in list_slots(messages):
        archive = find_archive_id(slot.text)
        if archive:
            slots_by_archive.setdefault(archive, []).append(slot)
    return slots_by_archive


def build_replacements(
    slots_by_archive: Mapping[UUID, Sequence[Slot]], texts: Mapping[UUID, str]
) -> dict[Position, str]:
    """Return the new text of each slot that refers to one of these archives."""
    return {
        slot_position(slot): texts[key]
        for key in slots_by_archive
        if key in texts
        for slot in slots_by_archive[key]
    }


def find_back_reference(query: str) -> str:
    """Return the phrase that refers to an earlier part, or an empty string."""
    match = _EARLIER.search(query)
    return match[0] if match else ""
