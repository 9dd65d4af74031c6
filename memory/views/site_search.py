"""Memories and topics in the site search."""

from collections.abc import Mapping
from functools import partial

from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from kmapp.web.site_search.registry import Matches, SearchProvider, SiteMatch, SiteSearch, register
from kmapp.web.site_search.text_search import find_ids
from memory.models import EntryQuerySet, MemoryEntry
from memory.models.entries import COLLECTION

Kind, Status = MemoryEntry.Kind, MemoryEntry.Status
IS: Mapping[str, Mapping[str, bool | int]] = {
    "pinned": {"pinned": True},
    "flagged": {"flags__len__gt": 0},
}
COLUMNS = {"kind": "kind", "status": "status", "user": "user_id", "agent": "agent_id"}
COLUMNS |= {"run": "run_id"}


def find_entries(search: SiteSearch, *, topics: bool) -> Matches:
    rows = MemoryEntry.objects.of(search.account_id)
    rows = rows.filter(kind=Kind.TOPIC) if topics else rows.exclude(kind=Kind.TOPIC)
    ids = find_ids(search, COLLECTION, _narrow(rows, search.query.filters))
    read = ids if search.query.phrases else ids[: search.limit]
    by_id = MemoryEntry.objects.of(search.account_id).in_bulk(read)
    entries = [
        entry
        for pk in read
        if (entry := by_id.get(pk)) and search.query.has_phrases(f"{entry.title}\n{entry.content}")
    ]
    number = len(entries) if search.query.phrases else len(ids)
    page = "memory:topic" if topics else "memory:entry"
    hits = [_hit(search, entry, page) for entry in entries[: search.limit]]
    return Matches(hits=hits, number=number)


def _narrow(rows: EntryQuerySet, filters: Mapping[str, str]) -> EntryQuerySet:
    for name, value in filters.items():
        if name in COLUMNS:
            rows = rows.filter(**{COLUMNS[name]: value})
        elif name == "tag":
            rows = rows.filter(tags__contains=[value])
        elif name == "is":
            rows = rows.filter(**IS[value])
    return rows


def _hit(search: SiteSearch, entry: MemoryEntry, page: str) -> SiteMatch:
    title = entry.title if entry.title != entry.content else ""
    passage = search.query.passage(entry.content)
    return SiteMatch(
        url=reverse(page, args=[entry.pk]),
        title=search.query.mark(title) if title else passage,
        passage=passage if title else (),
        badge=entry.status,
        meta=entry.user_id or entry.kind_label,
    )


register(
    SearchProvider(
        name="memory",
        label=_("Memories"),
        icon="brain",
        position=20,
        find=partial(find_entries, topics=False),
        filters={
            "kind": [kind for kind in Kind.values if kind != Kind.TOPIC],
            "status": Status.values,
            "is": list(IS),
            "user": None,
            "agent": None,
            "run": None,
            "tag": None,
        },
    )
)
register(
    SearchProvider(
        name="topic",
        label=_("Topics"),
        icon="layers",
        position=30,
        find=partial(find_entries, topics=True),
        filters={"status": [Status.ACTIVE, Status.DRAFT]},
    )
)
