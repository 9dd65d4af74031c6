"""Data stored under a person's id: extractions, saved views and records of exports."""

from collections.abc import Collection, Iterator
from typing import TypeVar
from urllib.parse import parse_qsl, quote_plus
from uuid import UUID

from django.db.models import Q, QuerySet

from kmapp.accounts.erasure_registry import PersonalDataHandlers, register_personal_data
from kmapp.ledger.actions import Recording
from kmapp.outbox.failed_deliveries import clear_error_messages
from kmapp.text.whole_words import contains_person_id
from memory.models import Extraction, MemoryExport, SavedView

StoredRow = TypeVar("StoredRow", SavedView, MemoryExport)


def count_records(account_id: UUID, people: Collection[str]) -> int:
    views = _list_naming(SavedView.objects.of(account_id), people)
    exports = _list_naming(MemoryExport.objects.of(account_id), people)
    extractions = Extraction.objects.of(account_id).filter(user_id__in=people)
    return extractions.count() + len([*views, *exports])


def erase_records(account_id: UUID, people: Collection[str], commit: Recording) -> None:
    """Erase what names these people. The ledger still proves that an export was made, by whom."""
    extractions = Extraction.objects.of(account_id).filter(user_id__in=people)
    clear_error_messages(account_id, list(extractions.values_list("pk", flat=True)))
    extractions.delete()
    views = list(_list_naming(SavedView.objects.of(account_id), people))
    SavedView.objects.of(account_id).filter(pk__in=[row.pk for row in views]).delete()
    exports = list(_list_naming(MemoryExport.objects.of(account_id), people))
    for row in exports:
        commit.erase(MemoryExport._meta.label_lower, row.pk)
    MemoryExport.objects.of(account_id).filter(pk__in=[row.pk for row in exports]).delete()


def _list_naming(rows: "QuerySet[StoredRow]", people: Collection[str]) -> Iterator[StoredRow]:
    """Yield the rows whose query string or name contains the id of a person as a word."""
    candidates = Q(pk__in=[])
    for person in people:
        candidates |= Q(query__contains=quote_plus(person))
        if rows.model is SavedView:
            candidates |= Q(name__contains=person)
    for row in rows.filter(candidates):
        texts = [value for _, value in parse_qsl(row.query)]
        texts.append(getattr(row, "name", ""))
        if any(contains_person_id(text, person) for person in people for text in texts):
            yield row


register_personal_data(PersonalDataHandlers(count=count_records, erase=erase_records))
