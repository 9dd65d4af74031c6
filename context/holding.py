"""Which tool results a message holds, so that it goes when one of them is erased."""

import re
from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from uuid import UUID

from context.bodies import written
from context.drafts import sent_sha256
from context.messages import Call, Message, Slot, calls, slots
from context.placeholders import TOOL, named_in

MOST_IDS = 20  # that one result names in ways of others: a listing may name thousands
_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def marks_in(
    account_id: UUID, messages: Mapping[UUID, Message], fresh: Collection[UUID]
) -> dict[UUID, list[str]]:
    """Of those messages of a call that are fresh: marks of each tool result in it.

    A mark is a keyed digest of the result, as an archive has it, or the id of an archive that
    stands for it or that it was loaded from.
    """
    called = calls(list(messages.values()))
    return {
        pk: list(
            dict.fromkeys(
                mark
                for slot in slots([messages[pk]])
                for mark in _marks(account_id, slot, called.get(slot.call_id))
            )
        )
        for pk in fresh
        if pk in messages
    }


def _marks(account_id: UUID, slot: Slot, call: Call | None) -> Iterator[str]:
    yield sent_sha256(account_id, slot.text)
    yield from named_in(slot.text)
    asked = written(call.said) if call and call.name == TOOL else ""
    found = islice(_ID.finditer(f"{asked} {slot.text}"), MOST_IDS)
    yield from (each[0] for each in found)
