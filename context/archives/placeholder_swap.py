"""Which tool results of a conversation leave it, and which come back. Pure."""

import re
from collections.abc import Callable, Mapping, Sequence
from uuid import UUID

from context.archives.placeholders import archive_of, passages_of
from context.assembly.messages import Message, Path, Slot, calls, slots, turns

Place = tuple[int, Path]

# What people say when they mean something that was said before.
_EARLIER = re.compile(
    r"之前|刚才|刚刚|上次|上面|前面|先前|早些时候|你说过|提到过|"
    r"\b(?:earlier|before|previous(?:ly)?|last time|above|again|you (?:said|found|mentioned))\b",
    re.IGNORECASE,
)


def place(slot: Slot) -> Place:
    return slot.at, slot.path


def tool_of(messages: Sequence[Message]) -> Callable[[Slot], str]:
    """The name of the tool that filled a slot."""
    names = {call.id: call.name for call in calls(messages).values()}
    return lambda slot: (
        names.get(slot.call_id) or str(messages[slot.at].get("name") or "unknown_tool")
    )


def settled(messages: Sequence[Message], keep_turns: int) -> list[Slot]:
    """The tool results before the last turns, which stay as they are."""
    kept = turns(messages)[-keep_turns:] if keep_turns else []
    first = kept[0].start if kept else len(messages)
    return [slot for slot in slots(messages) if slot.at < first]


def too_long(
    messages: Sequence[Message], keep_turns: int, threshold: Callable[[str], int]
) -> list[Slot]:
    """What is to be kept elsewhere: too long, and not a placeholder already."""
    name = tool_of(messages)
    return [
        slot
        for slot in settled(messages, keep_turns)
        if len(slot.text) > threshold(name(slot)) and standing_for(slot.text) is None
    ]


def standing_for(text: str) -> UUID | None:
    """The archive that a text stands for, as its placeholder or as some passages of it."""
    return archive_of(text) or passages_of(text)


def references(messages: Sequence[Message]) -> dict[UUID, list[Slot]]:
    """Where which archives are referred to."""
    found: dict[UUID, list[Slot]] = {}
    for slot in slots(messages):
        archive = standing_for(slot.text)
        if archive:
            found.setdefault(archive, []).append(slot)
    return found


def filled(found: Mapping[UUID, Sequence[Slot]], texts: Mapping[UUID, str]) -> dict[Place, str]:
    """The places of these archives, with what is to stand there."""
    return {place(slot): texts[key] for key in found if key in texts for slot in found[key]}


def refers_back(query: str) -> str:
    """The words by which somebody refers to what was said before; none if nobody does."""
    said = _EARLIER.search(query)
    return said[0] if said else ""
