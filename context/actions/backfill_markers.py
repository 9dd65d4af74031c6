"""Marks of what was kept without any: parts of calls that an older release wrote down.

They are made of what is kept, batch by batch, and before an erased result is looked for at the
latest. What a part was loaded from stands in another one, so the parts of a call go together.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any
from uuid import UUID

from context.archives.archive_references import marks_in
from context.assembly.messages import NotMessages, check
from context.models import ContextBody, ContextInput
from kmapp.accounts.acting import acting
from kmapp.accounts.models import AccountQuerySet

CALLS = 20  # a transaction; some have hundreds of parts
PARTS = 200
LAST = UUID(int=2**128 - 1)


def mark_all(account_id: UUID) -> None:
    """The newest call first: the earlier parts of its conversation are in it.

    Opens `acting` itself, once for each batch: what is marked stays so when the rest fails.
    """
    before = LAST
    while last := _mark_calls(account_id, before):
        before = last
    while _mark_rest(account_id):
        pass


def _unmarked(account_id: UUID) -> AccountQuerySet[ContextBody]:
    return ContextBody.objects.of(account_id).filter(results=None)


def _mark_calls(account_id: UUID, before: UUID) -> UUID | None:
    """Of some calls. Returns the last of them; None when there are no more, or no need."""
    with acting(account_id):
        if not _unmarked(account_id).exists():
            return None
        rows = ContextInput.objects.of(account_id).filter(report_id__lt=before)
        some = dict(rows.order_by("-report_id").values_list("report_id", "messages")[:CALLS])
        parts = {pk for messages in some.values() for pk in messages}
        held = _unmarked(account_id).filter(pk__in=parts).order_by("pk").select_for_update()
        left = set(held.values_list("pk", flat=True))
        for messages in some.values():
            if here := left & set(messages):
                _keep_marks(account_id, _marks(account_id, _texts(account_id, messages), here))
                left -= here
    return min(some, default=None)


def _mark_rest(account_id: UUID) -> int:
    """Of some that no call has as a message, each by itself. How many that were."""
    with acting(account_id):
        held = _unmarked(account_id).order_by("pk").select_for_update()
        texts = dict(held.values_list("pk", "text")[:PARTS])
        marks = [_marks(account_id, {pk: text}, {pk}) for pk, text in texts.items()]
        _keep_marks(account_id, {pk: each[pk] for each in marks for pk in each})
    return len(texts)


def _texts(account_id: UUID, parts: Sequence[UUID]) -> dict[UUID, str]:
    rows = ContextBody.objects.of(account_id).filter(pk__in=parts)
    return dict(rows.values_list("pk", "text"))


def _marks(
    account_id: UUID, texts: Mapping[UUID, str], wanted: Collection[UUID]
) -> dict[UUID, list[str]]:
    """Of those that are wanted; none of a tool, a section or what was retrieved."""
    parts = {pk: json.loads(text) for pk, text in texts.items()}
    messages = {pk: part for pk, part in parts.items() if _is_message(part)}
    found = marks_in(account_id, messages, {pk: messages[pk] for pk in wanted if pk in messages})
    return {pk: found.get(pk, []) for pk in wanted}


def _is_message(part: Any) -> bool:
    try:
        check([part])
    except NotMessages:
        return False
    return True


def _keep_marks(account_id: UUID, marks: Mapping[UUID, list[str]]) -> None:
    rows = [ContextBody(pk=pk, account_id=account_id, results=found) for pk, found in marks.items()]
    ContextBody.objects.of(account_id).bulk_update(rows, ["results"], batch_size=PARTS)
