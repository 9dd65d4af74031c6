"""What is kept under a person's id beside their memories: here, and in other apps."""

import re
from collections.abc import Collection, Iterable, Iterator
from typing import TypeVar
from urllib.parse import parse_qsl, quote_plus
from uuid import UUID

from django.db.models import Q, QuerySet

from kmapp.accounts.personal_data import erase_personal_data
from kmapp.ledger.actions import Recording
from memory.models import Extraction, MemoryEntry, MemoryExport, SavedView

StoredRow = TypeVar("StoredRow", SavedView, MemoryExport)


def forget_people(account_id: UUID, people: Collection[str], commit: Recording) -> None:
    """Erase what names those of whom no memory is left. Use inside `acting`, after they are gone.

    A view would go on showing the id, and find nothing; of an export the ledger still proves that
    there was one, and who made it.
    """
    remembered = MemoryEntry.objects.of(account_id).filter(user_id__in=people)
    gone = {*people} - {*remembered.values_list("user_id", flat=True).distinct()} - {""}
    erase_personal_data(account_id, gone, commit)
    Extraction.objects.of(account_id).filter(user_id__in=gone).delete()
    views = list(_naming(SavedView.objects.of(account_id), gone))
    SavedView.objects.of(account_id).filter(pk__in=[row.pk for row in views]).delete()
    exports = list(_naming(MemoryExport.objects.of(account_id), gone))
    for row in exports:
        commit.erase(MemoryExport._meta.label_lower, row.pk)
    MemoryExport.objects.of(account_id).filter(pk__in=[row.pk for row in exports]).delete()


def _naming(rows: "QuerySet[StoredRow]", people: Iterable[str]) -> Iterator[StoredRow]:
    """Those whose address or name has one of these as a word."""
    may = Q(pk__in=[])
    words = []
    for each in people:
        may |= Q(query__contains=quote_plus(each))
        if rows.model is SavedView:
            may |= Q(name__contains=each)
        words.append(re.compile(rf"(?<!\w){re.escape(each)}(?!\w)"))
    for row in rows.filter(may):
        query_values = [value for _, value in parse_qsl(row.query)]
        query_values.append(getattr(row, "name", ""))
        if any(word.search(text) for word in words for text in query_values):
            yield row
