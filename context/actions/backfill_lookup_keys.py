"""Backfill of lookup keys for parts of calls that an older release stored without them.

Runs in batches, at the latest before an erasure needs the keys. A key can depend on another
part of the same call, so that the parts of a call are processed together.
"""

import json
from collections.abc import Collection, Mapping
from typing import Any
from uuid import UUID

from context.archives.erasure_lookup_keys import collect_lookup_keys
from context.assembly.messages import InvalidMessages, check_messages
from context.models import ContextBody, ContextInput
from kmapp.accounts.acting import acting
from kmapp.accounts.erasure_registry import register_prepare_handler
from kmapp.accounts.models import AccountQuerySet

CALLS = 20  # per transaction; some calls have hundreds of parts
PARTS = 200
MAX_ID = UUID(int=2**128 - 1)


@register_prepare_handler
def backfill_lookup_keys(account_id: UUID) -> None:
    """Add the missing lookup keys, newest calls first, because they contain the earlier parts.

    Opens `acting` itself, once for each batch, so that a failure keeps the finished batches.
    """
    before = MAX_ID
    while last := _backfill_calls(account_id, before):
        before = last
    while _backfill_rest(account_id):
        pass


def _rows_without_lookup_keys(account_id: UUID) -> AccountQuerySet[ContextBody]:
    return ContextBody.objects.of(account_id).filter(results=None)


def _backfill_calls(account_id: UUID, before: UUID) -> UUID | None:
    """Process a batch of calls. Return the last one; None if nothing is left."""
    bodies = ContextBody.objects.of(account_id)
    with acting(account_id):
        if not _rows_without_lookup_keys(account_id).exists():
            return None
        rows = ContextInput.objects.of(account_id).filter(report_id__lt=before)
        newest = rows.order_by("-report_id").values_list("report_id", "messages")
        calls = dict(newest[:CALLS])
        parts = {pk for messages in calls.values() for pk in messages}
        locked = _rows_without_lookup_keys(account_id).filter(pk__in=parts).order_by("pk")
        pending = set(locked.select_for_update().values_list("pk", flat=True))
        for messages in calls.values():
            if selected := pending & set(messages):
                texts = dict(bodies.filter(pk__in=messages).values_list("pk", "text"))
                _update_lookup_keys(account_id, _collect_lookup_keys(account_id, texts, selected))
                pending -= selected
    return min(calls, default=None)


def _backfill_rest(account_id: UUID) -> int:
    """Process a batch of parts that no call has as a message. Return their number."""
    with acting(account_id):
        locked = _rows_without_lookup_keys(account_id).order_by("pk").select_for_update()
        texts = dict(locked.values_list("pk", "text")[:PARTS])
        keys: dict[UUID, list[str]] = {}
        for pk, text in texts.items():
            keys |= _collect_lookup_keys(account_id, {pk: text}, {pk})
        _update_lookup_keys(account_id, keys)
    return len(texts)


def _collect_lookup_keys(
    account_id: UUID, texts: Mapping[UUID, str], selected: Collection[UUID]
) -> dict[UUID, list[str]]:
    """Return the lookup keys of the selected parts; none for parts that are not messages."""
    parts = {pk: json.loads(text) for pk, text in texts.items()}
    messages = {pk: part for pk, part in parts.items() if _is_message(part)}
    stored = {pk: messages[pk] for pk in selected if pk in messages}
    collected = collect_lookup_keys(account_id, messages, stored)
    return {pk: collected.get(pk, []) for pk in selected}


def _is_message(part: Any) -> bool:
    try:
        check_messages([part])
    except InvalidMessages:
        return False
    return True


def _update_lookup_keys(account_id: UUID, keys: Mapping[UUID, list[str]]) -> None:
    rows = [ContextBody(pk=pk, account_id=account_id, results=keys[pk]) for pk in keys]
    ContextBody.objects.of(account_id).bulk_update(rows, ["results"], batch_size=PARTS)
