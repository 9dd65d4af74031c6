"""Loading and evaluation of the lorebooks of an account. Inside `acting`."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import partial
from uuid import UUID

from kmapp.ledger.read_verification import (
    ObjectKey,
    record_withheld,
    verify_rows,
    withhold_mismatches,
)
from kmapp.search.passage_templates import estimate_tokens
from knowledge.lore.lorebook_evaluation import (
    Entry,
    TriggerResult,
    TriggerSettings,
    evaluate_lorebook,
)
from knowledge.models import LorebookEntry

MAX_ENTRIES = 5_000
REPLAYED_TURNS = 20
SEPARATOR = re.compile(r"\r?\n(?:[^\S\n]*\n)+")
COLUMNS = tuple(each.name for each in fields(Entry) if each.name != "id")


def load_entries(account_id: UUID, books: Sequence[str] = ()) -> list[LorebookEntry]:
    rows = LorebookEntry.objects.of(account_id).filter(enabled=True).select_related("source")
    if books:
        rows = rows.filter(source__name__in=books)
    ordered = rows.order_by("order", "pk").with_verify_on_read(account_id)
    return _withhold(account_id, list(ordered[:MAX_ENTRIES]))


def _withhold(account_id: UUID, rows: Sequence[LorebookEntry]) -> list[LorebookEntry]:
    """Return the entries that, like their lorebooks, do not differ from their seals."""
    sealed = withhold_mismatches(account_id, rows)
    if not sealed or not sealed[0].verify_on_read:
        return sealed
    verdict = verify_rows(account_id, {row.source for row in sealed})
    refused = [row.pk for row in sealed if not verdict.passes(ObjectKey.of(row.source))]
    if refused:
        record_withheld(refused, verdict.mismatches)
    return [row for row in sealed if verdict.passes(ObjectKey.of(row.source))]


def evaluate_entries(
    rows: Sequence[LorebookEntry],
    messages: Sequence[str],
    settings: TriggerSettings,
    state: Mapping[str, int] | None = None,
) -> TriggerResult:
    """Return the entries that fire.

    Without a state of earlier turns, the visible turns are evaluated again, so that sticky and
    cooldown turns are respected.
    """
    entries = [
        Entry(id=str(row.pk), **{name: getattr(row, name) for name in COLUMNS}) for row in rows
    ]
    run = partial(evaluate_lorebook, entries, settings=settings, count_tokens=estimate_tokens)
    if state is None:
        state = {}
        if any(entry.sticky or entry.cooldown for entry in entries):
            for turn in range(max(1, len(messages) - REPLAYED_TURNS), len(messages)):
                state = run(messages[:turn], state=state).state
    return run(messages, state=state)


def split_messages(pasted: str) -> list[str]:
    """Return the messages of a pasted conversation, separated by blank lines."""
    return [each.strip() for each in SEPARATOR.split(pasted) if each.strip()]
