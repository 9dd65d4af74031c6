"""Tool results in messages: the archives of those that are stored, and drafts for the others."""

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Any
from uuid import UUID

from django.db.models import Q

from context.archives.tool_result_selection import (
    find_archive_id,
    map_calls,
    map_tool_names,
    slot_position,
)
from context.assembly.messages import Message, Slot
from context.models import ArchiveQuerySet, ToolResultArchive
from context.models.archives import ArchiveScope, NewResult, list_sent_digests
from context.reports.call_part_digests import encode_json

MIN_LENGTH = 200  # characters; a placeholder is longer than shorter results
# Characters of inputs in one request, which are stored with each text of the result of a call.
MAX_INPUTS = 5_000_000


def build_new_results(
    messages: Sequence[Message], slots_: Iterable[Slot], within: ArchiveScope, **common: str
) -> list[NewResult]:
    name, find_call = map_tool_names(messages), map_calls(messages)
    inputs: dict[int, tuple[Any, int]] = {}  # by identity of the call, with their lengths
    results, left = [], MAX_INPUTS
    for slot in slots_:
        call = find_call(slot)
        if call and id(call) not in inputs:
            value = call.input
            inputs[id(call)] = value, len(encode_json(value))
        tool_input, length = inputs.get(id(call), (None, 0))
        if length > left:
            tool_input, length = None, 0
        left -= length
        results.append(
            NewResult(
                text=slot.text,
                tool_name=name(slot)[:100],
                tool_input=tool_input,
                tool_call_id=slot.call_id[:200],
                **within.ids(),
                **common,
            )
        )
    return results


def find_archived_results(
    rows: ArchiveQuerySet, account_id: UUID, slots_: Iterable[Slot]
) -> dict[Any, ToolResultArchive]:
    """Return the archives, among these, of texts that are stored already, by slot position."""
    # The keyed digests of each text as it was sent, and the digest of a text as it is stored.
    digests = {
        slot_position(slot): (
            list_sent_digests(account_id, slot.text),
            sha256(slot.text.encode()).hexdigest(),
        )
        for slot in slots_
        if len(slot.text) >= MIN_LENGTH and find_archive_id(slot.text) is None
    }
    if not digests:
        return {}
    sent = {digest for as_sent, _stored in digests.values() for digest in as_sent}
    stored = {as_stored for _sent, as_stored in digests.values()}
    by_digest: dict[str, ToolResultArchive] = {}
    matching = rows.briefly().filter(Q(sent_sha256__in=sent) | Q(sha256__in=stored))
    for archive in matching.order_by("-created_at", "-pk"):
        by_digest[archive.sent_sha256] = by_digest[archive.sha256] = archive
    return {
        position: by_digest[match]
        for position, (as_sent, as_stored) in digests.items()
        if (match := next((each for each in (*as_sent, as_stored) if each in by_digest), None))
    }
