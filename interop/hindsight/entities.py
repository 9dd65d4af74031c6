"""Entities of a bank, which its memories name."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any
from uuid import uuid5

from drf_spectacular.utils import extend_schema

from interop.hindsight.base_views import BankReport
from kmapp.accounts.models import Account
from kmapp.database.ids import parse_uuid
from kmapp.errors import NotFound
from kmapp.ledger.read_verification import withhold_mismatches
from memory.models import EntryQuerySet

MAX_ENTRIES = 10_000  # memories whose entities one request counts
CHUNK = 500  # memories that are verified at a time


class EntityReport(BankReport):
    """Base class of reports on the entities that the memories of a bank name."""

    def count_entities(self, entries: EntryQuerySet) -> list[tuple[str, int]]:
        """Return names and numbers of mentions, most mentioned first."""
        lists = self._load_entities(entries.exclude(entities=[]))
        counts = Counter(name for names in lists for name in names)
        return sorted(counts.items(), key=lambda item: (-item[1], item[0]))

    def _load_entities(self, entries: EntryQuerySet) -> Iterator[Sequence[str]]:
        """Yield the entities of each memory. Whole rows are read only to verify them, in chunks."""
        if not Account.objects.filter(pk=self.account, verify_on_read=True).exists():
            yield from entries.values_list("entities", flat=True)[:MAX_ENTRIES].iterator()
            return
        rows = entries.with_verify_on_read(self.account)[:MAX_ENTRIES].iterator(CHUNK)
        while chunk := list(islice(rows, CHUNK)):
            for row in withhold_mismatches(self.account, chunk):
                yield row.entities

    def serialize_entity(self, name: str, mentions: int) -> dict[str, Any]:
        return {
            "id": str(uuid5(self.account, f"entity:{name}")),
            "canonical_name": name,
            "mention_count": mentions,
        }


@extend_schema(exclude=True)
class EntityList(EntityReport):
    """List the entities of a bank."""

    def report(self, entries: EntryQuerySet, bank: str, **parts: str) -> dict[str, Any]:
        limit, offset = self.read_page()
        counts = self.count_entities(entries)
        items = [self.serialize_entity(*each) for each in counts[offset : offset + limit]]
        return {"items": items, "total": len(counts), "limit": limit, "offset": offset}


@extend_schema(exclude=True)
class OneEntity(EntityReport):
    """Return an entity with the newest texts that name it."""

    def report(self, entries: EntryQuerySet, bank: str, **parts: str) -> dict[str, Any]:
        for name, mentions in self.count_entities(entries):
            output = self.serialize_entity(name, mentions)
            if output["id"] == str(parse_uuid(parts["entity"])):
                rows = entries.filter(entities__contains=[name]).order_by("-created_at")
                newest = list(rows.with_verify_on_read(self.account)[:20])
                sealed = withhold_mismatches(self.account, newest)
                texts = [{"text": row.content, "mentioned_at": row.created_at} for row in sealed]
                return {**output, "observations": texts}
        raise NotFound("Entity not found.")
