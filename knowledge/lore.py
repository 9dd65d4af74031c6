"""Evaluating the lorebooks of an account over a conversation. Use inside `acting`."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from kmapp.search.passages import token_estimate
from knowledge.models import LorebookEntry
from knowledge.triggers import Entry, Outcome, Rules, evaluate

MOST_ENTRIES = 5_000
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
    state: Mapping[str, int],
) -> Outcome:
    """What fires of these entries."""
    entries = [Entry(id=str(row.pk), **{name: getattr(row, name) for name in SAME}) for row in rows]
    return evaluate(entries, messages, rules=rules, count=token_estimate, state=state)
