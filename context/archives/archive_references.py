"""Which tool results a message holds, so that it goes when one of them is erased."""

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any
from uuid import UUID

from context.archives.placeholders import TOOL, named_in
from context.assembly.messages import Call, Message, Slot, calls, slots
from context.models.archive_input import sent_sha256
from context.reports.stored_inputs import written

MOST_IDS = 20  # that one result names in ways of others: a listing may name thousands
_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def marks_in(
    account_id: UUID, messages: Mapping[UUID, Message], kept: Mapping[UUID, Any]
) -> dict[UUID, list[str]]:
    """Of those messages of a call that are to be kept: marks of each tool result in it.

    `kept` has them as they will be: without what is blacked out. A mark is a keyed digest of the
    result, as an archive has it, or the id of an archive that stands for it or that it was loaded
    from.
    """
    called = calls(list(messages.values()))
    return {
        pk: list(dict.fromkeys(_marks(account_id, messages[pk], part, called)))
        for pk, part in kept.items()
        if pk in messages
    }


def _marks(
    account_id: UUID, message: Message, kept: Message, called: Mapping[str, Call]
) -> Iterator[str]:
    texts = {slot.path: slot.text for slot in slots([kept])}
    for slot in slots([message]):
        yield sent_sha256(account_id, slot.text)
        if (text := texts.get(slot.path, slot.text)) != slot.text:
            # Once the secret is exchanged, an archive knows what was sent no longer, but this.
            yield sent_sha256(account_id, text)
        yield from _named(slot, called.get(slot.call_id))


def _named(slot: Slot, call: Call | None) -> Iterator[str]:
    yield from named_in(slot.text)
    asked = written(call.said) if call and call.name == TOOL else ""
    found = islice(_ID.finditer(f"{asked} {slot.text}"), MOST_IDS)
    yield from (each[0] for each in found)
