"""Import of memories from the lines of an export, unchanged and with their ids."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, TypeVar
from uuid import UUID

from django.db import IntegrityError, transaction

from kmapp.accounts.actors import Actor
from kmapp.accounts.models import Account
from kmapp.errors import Invalid
from kmapp.ledger.actions import recording
from kmapp.ledger.canonical import encode_canonical
from kmapp.security.prompt_injection import detect_flags
from memory.actions.edges import validate_edge_ends
from memory.actions.entry_locks import lock_against_erasure
from memory.actions.follow_up_jobs import index_new_entries
from memory.actions.record_versions import record_versions
from memory.models import ErasedEntry, MemoryEdge, MemoryEntry
from memory.models.entry_input import REDACTED_FIELDS, derive_entry_id, redact_field
from memory.transfer.jsonl import InvalidLine, parse_edge, parse_entry, serialize_row

Row = TypeVar("Row", MemoryEntry, MemoryEdge)
# Fields that may differ from an existing row: flags are detected again, and statistics change.
NOT_COMPARED = frozenset({"flags", *MemoryEntry.unsealed_fields})


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportLine:
    number: int
    value: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class LineProblem:
    line: int
    reason: str


@dataclass(slots=True)
class ImportResult:
    entries: int = 0
    edges: int = 0
    unchanged: int = 0  # rows that exist with the same values
    problems: list[LineProblem] = field(default_factory=list)

    def add(self, other: "ImportResult") -> None:
        self.entries += other.entries
        self.edges += other.edges
        self.unchanged += other.unchanged
        self.problems += other.problems


def import_lines(
    account: Account, actor: Actor, lines: Sequence[ImportLine], *, source: str
) -> ImportResult:
    """Import lines in one commit; those that cannot be imported are reported as problems.

    If the database refuses the block, its halves are tried, down to the line at fault.
    """
    try:
        with transaction.atomic():
            return _Block(account, actor, source).import_lines(lines)
    except IntegrityError as error:
        if len(lines) == 1:
            return ImportResult(
                problems=[LineProblem(line=lines[0].number, reason=_refusal(error))]
            )
    middle = len(lines) // 2
    imported = import_lines(account, actor, lines[:middle], source=source)
    imported.add(import_lines(account, actor, lines[middle:], source=source))
    return imported


def _refusal(error: IntegrityError) -> str:
    if "_pkey" in str(error):
        return "its ID is used by another account of this installation"
    return f"the database refuses it: {str(error).splitlines()[0]}"


class _Block:
    """Writer of the rows of some lines, in one commit."""

    def __init__(self, account: Account, actor: Actor, source: str) -> None:
        self.account, self.actor, self.source = account, actor, source
        self.result = ImportResult()
        self.raw_lines: dict[int, Mapping[str, Any]] = {}  # by the number of the line

    def import_lines(self, lines: Sequence[ImportLine]) -> ImportResult:
        rows = [line for line in lines if line.value.get("object") != "memories"]
        edge_lines = [line for line in rows if line.value.get("object") == "edge"]
        entry_lines = [line for line in rows if line.value.get("object") != "edge"]
        entries = self._select_new_entries(self._parse(entry_lines, self._parse_entry))
        edges = self._select_new_edges(
            self._parse(edge_lines, lambda value: parse_edge(value, self.account.pk)), entries
        )
        self._write(list(entries.values()), edges)
        self.result.entries, self.result.edges = len(entries), len(edges)
        return self.result

    def _add_problem(self, line: int, reason: str) -> None:
        self.result.problems.append(LineProblem(line=line, reason=reason))

    def _parse(self, lines: Iterable[ImportLine], parse: Any) -> dict[int, Any]:
        """Return the rows of the valid lines, by line number."""
        rows = {}
        for line in lines:
            self.raw_lines[line.number] = line.value
            try:
                rows[line.number] = parse(line.value)
            except InvalidLine as error:
                self._add_problem(line.number, str(error))
        return rows

    def _parse_entry(self, value: Mapping[str, Any]) -> MemoryEntry:
        """Return the entry as this account stores it: its redaction policy applies."""
        if value.get("object", "entry") != "entry":
            raise InvalidLine(f"object: {value['object']} is nothing we know")
        entry = parse_entry(value, self.account.pk)
        for name in ("content", "slots", *REDACTED_FIELDS):
            setattr(entry, name, redact_field(name, getattr(entry, name), self.account.redact))
        entry.flags = detect_flags(f"{entry.title}\n{entry.content}")
        entry.created_by = entry.created_by or str(self.actor)
        return entry

    def _select_new_entries(self, read: Mapping[int, MemoryEntry]) -> dict[UUID, MemoryEntry]:
        rows = MemoryEntry.objects.of(self.account)
        ids = [entry.pk for entry in read.values()]
        names = [entry.client_id for entry in read.values() if entry.client_id]
        existing = rows.in_bulk(ids)
        reserved_ids = {number: self._derive_id(entry) for number, entry in read.items()}
        tombstones = ErasedEntry.objects.of(self.account)
        tombstones = tombstones.filter(pk__in={*ids, *reserved_ids.values()})
        erased = set(tombstones.values_list("pk", flat=True))
        named = rows.filter(client_id__in=names).values_list("scope", "client_id", "pk")
        existing_ids = {(scope, client_id): pk for scope, client_id, pk in named}
        new_entries: dict[UUID, MemoryEntry] = {}
        for number, entry in read.items():
            name = (entry.scope, entry.client_id)
            if entry.pk in erased:
                self._add_problem(number, f"{entry.pk} was erased here")
            elif entry.pk in existing or entry.pk in new_entries:
                self._compare(number, existing.get(entry.pk) or new_entries[entry.pk], entry)
            elif reserved_ids[number] in erased:
                self._add_problem(number, f"client_id {entry.client_id} was erased here")
            elif entry.client_id and name in existing_ids:
                owner = existing_ids[name]
                self._add_problem(number, f"client_id {entry.client_id} belongs to {owner} here")
            else:
                new_entries[entry.pk] = entry
                existing_ids[name] = entry.pk
        return new_entries

    def _derive_id(self, entry: MemoryEntry) -> UUID:
        """Return the id that an erasure reserves for a memory, besides its own one."""
        if not entry.client_id:
            return entry.pk
        return derive_entry_id(self.account.pk, entry.scope, entry.client_id)

    def _select_new_edges(
        self, read: Mapping[int, MemoryEdge], entries: Mapping[UUID, MemoryEntry]
    ) -> list[MemoryEdge]:
        ends = {end for edge in read.values() for end in (edge.src_id, edge.dst_id)}
        existing_ends = lock_against_erasure(self.account.pk, ends - entries.keys())
        entries_by_id = MemoryEntry.objects.of(self.account).in_bulk(existing_ends)
        entries_by_id |= entries
        rows = MemoryEdge.objects.of(self.account)
        existing = rows.in_bulk([edge.pk for edge in read.values()])
        between = {(e.src_id, e.dst_id, e.type): e for e in rows.filter(src__in=ends, dst__in=ends)}
        joined = {key for key, edge in between.items() if edge.commit_id}
        new_edges: dict[UUID, MemoryEdge] = {}
        for number, edge in read.items():
            name = (edge.src_id, edge.dst_id, edge.type)
            if edge.pk in existing or edge.pk in new_edges:
                self._compare(number, existing.get(edge.pk) or new_edges[edge.pk], edge)
            elif name in joined:
                self.result.unchanged += 1
            elif self._validate_ends(number, edge, entries_by_id):
                new_edges[edge.pk] = edge
                joined.add(name)
        derived = [edge.pk for key, edge in between.items() if key in joined and not edge.commit_id]
        if derived:  # by workers, who may derive edges while a file is imported
            rows.filter(pk__in=derived).delete()
        return list(new_edges.values())

    def _compare(self, number: int, existing: Row, line: Row) -> None:
        """Skip identical lines; refuse lines that differ from existing rows."""
        existing_values, line_values = serialize_row(existing), serialize_row(line)
        raw_lines = sorted(self.raw_lines[number].keys() & existing_values.keys() - NOT_COMPARED)
        other = [
            name
            for name in raw_lines
            if encode_canonical(existing_values[name]) != encode_canonical(line_values[name])
        ]
        if other:
            self._add_problem(number, f"{line.pk} is here already with another {', '.join(other)}")
        else:
            self.result.unchanged += 1

    def _validate_ends(
        self, number: int, edge: MemoryEdge, entries_by_id: Mapping[UUID, MemoryEntry]
    ) -> bool:
        for name in ("src_id", "dst_id"):
            if getattr(edge, name) not in entries_by_id:
                self._add_problem(number, f"{name}: entry {getattr(edge, name)} does not exist")
                return False
        try:
            validate_edge_ends(number, entries_by_id[edge.src_id], entries_by_id[edge.dst_id])
        except Invalid as refusal:
            self._add_problem(number, str(refusal))
            return False
        return True

    def _write(self, entries: Sequence[MemoryEntry], edges: Sequence[MemoryEdge]) -> None:
        with recording(
            self.account.pk, self.actor, input={"file": self.source}, reason="import"
        ) as commit:
            for position, entry in enumerate(entries):
                entry.written_in = entry.commit_id = commit.id
                entry.position = position
            for edge in edges:
                edge.commit_id = commit.id
            MemoryEntry.objects.bulk_create(sorted(entries, key=attrgetter("pk")))
            MemoryEdge.objects.bulk_create(sorted(edges, key=attrgetter("pk")))
            commit.add_all([*entries, *edges], "ADD")
            record_versions(entries, commit, "import")
            index_new_entries(self.account.pk, entries, entries, commit.id)
