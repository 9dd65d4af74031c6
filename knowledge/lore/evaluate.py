"""Evaluating the lorebooks of an account over a conversation. Use inside `acting`."""

import re
from collections.abc import Mapping, Sequence
from functools import partial
from uuid import UUID

from kmapp.search.passages import token_estimate
from knowledge.lore.triggers import Entry, Outcome, Rules, evaluate
from knowledge.models import LorebookEntry

MOST_ENTRIES = 5_000
REPLAYED = 20  # turns
BETWEEN = re.compile(r"\r?\n(?:[^\S\n]*\n)+")
SAME = (
    *("content", "keys", "secondary_keys", "secondary_logic", "regex", "case_sensitive"),
    *("whole_words", "constant", "enabled", "priority", "order", "budget_weight", "scope"),
    *("scan_depth", "recursive", "recursable", "sticky", "cooldown"),
)


def entries_of(account_id: UUID, books: Sequence[str] = ()) -> list[LorebookEntry]:
    """The entries of these lorebooks, by name; of all of them without a name."""
    rows = LorebookEntry.objects.of(account_id).filter(enabled=True).select_related("source")
    if books:
        rows = rows.filter(source__name__in=books)
    return list(rows.order_by("order", "pk")[:MOST_ENTRIES])


def fire(
    rows: Sequence[LorebookEntry],
    messages: Sequence[str],
    rules: Rules,
    state: Mapping[str, int] | None = None,
) -> Outcome:
    """What fires of these entries.

    Without a state of the turns before, those turns are gone through again as far as they can be
    seen, so that what stays stays and what rests rests.
    """
    entries = [Entry(id=str(row.pk), **{name: getattr(row, name) for name in SAME}) for row in rows]
    run = partial(evaluate, entries, rules=rules, count=token_estimate)
    if state is None:
        state = {}
        first = max(1, len(messages) - REPLAYED) if any(map(_remembers, entries)) else len(messages)
        for turn in range(first, len(messages)):
            state = run(messages[:turn], state=state).state
    return run(messages, state=state)


def _remembers(entry: Entry) -> bool:
    return bool(entry.sticky or entry.cooldown)


def messages_of(pasted: str) -> list[str]:
    """The messages of a conversation as people paste it: an empty line between two."""
    return [each.strip() for each in BETWEEN.split(pasted) if each.strip()]
