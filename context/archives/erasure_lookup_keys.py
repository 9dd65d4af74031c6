"""Lookup keys of the tool results in a message, to delete the message when a result is erased."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from itertools import groupby, islice
from operator import attrgetter
from typing import Any
from uuid import UUID

from context.archives.placeholders import TOOL, find_named_archives
from context.assembly.messages import Message, ToolCall, index_calls, list_slots
from context.models.archives import sent_sha256
from context.reports.call_part_digests import encode_json

MAX_IDS = 20  # in a result, and in its calls, because a listing may name thousands
_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def collect_lookup_keys(
    account_id: UUID, messages: Mapping[UUID, Message], stored: Mapping[UUID, Any]
) -> dict[UUID, list[str]]:
    """Return the lookup keys of the tool results in each stored message.

    `stored` holds the messages in redacted form. A lookup key is the keyed digest of a result,
    which its archive stores too, or the id of an archive that the message names.
    """
    calls = index_calls(messages.values())
    # Once per id, because the result of a call may have thousands of texts.
    find_loaded = cache(lambda call_id: _find_loaded(calls.get(call_id, ())))
    return {
        pk: list(dict.fromkeys(_list_lookup_keys(account_id, messages[pk], part, find_loaded)))
        for pk, part in stored.items()
        if pk in messages
    }


def _list_lookup_keys(
    account_id: UUID, message: Message, stored: Message, find_loaded: Callable[[str], list[str]]
) -> Iterator[str]:
    slots, texts = list_slots([message]), {slot.path: slot.text for slot in list_slots([stored])}
    for slot in slots:
        yield from _digest_texts(account_id, slot.text, texts.get(slot.path, slot.text))
        yield from find_named_archives(slot.text)
        yield from find_loaded(slot.call_id)
        yield from _find_ids(slot.text, MAX_IDS)
    for _call_id, group in groupby(slots, key=attrgetter("call_id")):
        # A result of several texts that is sent as a message is archived as one text.
        if len(parts := list(group)) > 1:
            whole = "\n".join(slot.text for slot in parts)
            whole_stored = "\n".join(texts.get(slot.path, slot.text) for slot in parts)
            yield from _digest_texts(account_id, whole, whole_stored)


def _digest_texts(account_id: UUID, sent: str, stored: str) -> Iterator[str]:
    yield sent_sha256(account_id, sent)
    if stored != sent:
        # After a key rotation the archive matches only the digest of its redacted text.
        yield sent_sha256(account_id, stored)


def _find_loaded(calls: Iterable[ToolCall]) -> list[str]:
    """Return the ids in the arguments of calls that load a result, of the last ones if many."""
    texts = [encode_json(call.arguments) for call in calls if call.name == TOOL]
    return list(dict.fromkeys(pk for text in texts for pk in _find_ids(text, MAX_IDS)))[-MAX_IDS:]


def _find_ids(text: str, limit: int) -> Iterator[str]:
    return (match[0] for match in islice(_ID.finditer(text), limit))
