"""Subcommands of `manage.py memories` for single memories, with tables or JSON as output."""

import json
import unicodedata
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any
from uuid import UUID

from django.core.serializers.json import DjangoJSONEncoder

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account
from kmapp.errors import NotFound
from kmapp.management.argument_types import parse_count
from memory.actions import review
from memory.actions.review import Decision
from memory.actions.write_entries import write_batch
from memory.models import EntryQuerySet, MemoryEntry, MemoryVersion, Viewer
from memory.models.entry_input import Batch, NewEntry
from memory.retrieval.search import SearchRequest, search_memories

WIDTH = 72  # columns of a text in a table
OWNERS = ("user_id", "agent_id", "run_id")
LISTED_FIELDS = ("id", "kind", "status", "visibility", *OWNERS, "title", "content")
MORE = ("tags", "entities", "slots", "importance", "confidence", "salience", "tier", "pinned")
VERSION_FIELDS = ("version", "event", "actor", "reason", "created_at")
TIMES = ("observed_at", "valid_from", "valid_to", "expires_at", "created_at", "updated_at")

Rows = list[dict[str, Any]]


def add_subcommands(verbs: Any) -> None:
    add = partial(add_verb, verbs, has_json=True)
    finding = add("search", "find memories by words and meaning")
    finding.add_argument("query")
    finding.add_argument("--user", default="", help="as seen by this user")
    finding.add_argument("--agent", default="", help="as seen by this agent")
    finding.add_argument("--run", default="", help="as seen in this run")
    finding.add_argument("--limit", type=parse_count, default=10)
    finding.add_argument("--min-score", type=float, default=0.0)
    listing = add("list", "the newest memories")
    for name in ("user", "agent", "run", "tag"):
        listing.add_argument(f"--{name}", default="")
    listing.add_argument("--kind", choices=MemoryEntry.Kind.values)
    listing.add_argument("--status", choices=MemoryEntry.Status.values)
    listing.add_argument("--limit", type=parse_count, default=20)
    add("get", "show one memory").add_argument("id", type=UUID)
    add("history", "list all versions of one memory").add_argument("id", type=UUID)
    adding = add("add", "add one memory")
    adding.add_argument("text")
    for name in ("user", "agent", "run", "title"):
        adding.add_argument(f"--{name}", default="")
    adding.add_argument("--kind", choices=MemoryEntry.Kind.values, default="fact")
    adding.add_argument("--importance", type=_parse_share, help="from 0 to 1")
    adding.add_argument("--tag", action="append", default=[])
    changing = add("update", "correct one memory")
    changing.add_argument("id", type=UUID)
    changing.add_argument("text")
    leaving = add("delete", "forget one memory; can be undone")
    leaving.add_argument("id", type=UUID)
    for verb in (changing, leaving):
        verb.add_argument("--reason", default="")


def add_verb(verbs: Any, name: str, meaning: str, *, has_json: bool = False) -> ArgumentParser:
    verb: ArgumentParser = verbs.add_parser(name, help=meaning)
    verb.add_argument("--account", metavar="SLUG", help="optional if there is only one account")
    if has_json:
        verb.add_argument("--json", action="store_true", help="print one JSON document")
    return verb


def _parse_share(options: str) -> float:
    share = float(options)
    if not 0 <= share <= 1:
        raise ArgumentTypeError(f"{options} is not from 0 to 1")
    return share


def run_subcommand(account: Account, verb: str, options: Mapping[str, Any]) -> str:
    rows = SUBCOMMANDS[verb](account, Namespace(**options))
    if options["json"]:
        return json.dumps(rows, cls=DjangoJSONEncoder, ensure_ascii=False, indent=2)
    return format_table(rows, COLUMNS.get(verb, ()))


def _search(account: Account, options: Namespace) -> Rows:
    viewer = Viewer(**_owner(options))
    request = SearchRequest(
        query=options.query, viewer=viewer, limit=options.limit, min_score=options.min_score
    )
    hits = search_memories(account.pk, request).hits
    return [{"score": round(hit.score, 4), **_serialize(hit.entry)} for hit in hits]


def _list(account: Account, options: Namespace) -> Rows:
    named = {**_owner(options), "kind": options.kind, "status": options.status}
    with acting(account):
        rows: EntryQuerySet = MemoryEntry.objects.of(account).order_by("-created_at", "-pk")
        rows = rows.filter(**{name: value for name, value in named.items() if value})
        if options.tag:
            rows = rows.filter(tags__contains=[options.tag])
        return [_serialize(entry) for entry in rows[: options.limit]]


def _get(account: Account, options: Namespace) -> Rows:
    with acting(account):
        fields = (*LISTED_FIELDS, *MORE, *TIMES, "version")
        return [_serialize(_get_entry(account, options.id), fields)]


def _history(account: Account, options: Namespace) -> Rows:
    with acting(account):
        _get_entry(account, options.id)
        rows = MemoryVersion.objects.of(account).filter(entry_id=options.id).order_by("version")
        return [
            {
                **{name: getattr(row, name) for name in VERSION_FIELDS},
                "content": row.state.get("content", ""),
            }
            for row in rows
        ]


def _add(account: Account, options: Namespace) -> Rows:
    draft = NewEntry(
        text=options.text,
        kind=options.kind,
        title=options.title,
        tags=options.tag,
        **_owner(options),
        **({} if options.importance is None else {"importance": options.importance}),
    )
    with acting(account):
        batch = Batch(entries=[draft], reason="manage.py memories add")
        return [
            _serialize(write_batch(account_id=account.pk, actor=SYSTEM, batch=batch).entries[0])
        ]


def _update(account: Account, options: Namespace) -> Rows:
    with acting(account):
        return [_serialize(review.edit(_decision(account, options), {"content": options.text}))]


def _delete(account: Account, options: Namespace) -> Rows:
    with acting(account):
        return [_serialize(review.forget(_decision(account, options)))]


def _owner(options: Namespace) -> dict[str, Any]:
    return {"user_id": options.user, "agent_id": options.agent, "run_id": options.run}


def _decision(account: Account, options: Namespace) -> Decision:
    return Decision(account_id=account.pk, entry_id=options.id, actor=SYSTEM, reason=options.reason)


def _get_entry(account: Account, pk: UUID) -> MemoryEntry:
    entry = MemoryEntry.objects.of(account).filter(pk=pk).first()
    if entry is None:
        raise NotFound("Memory not found.")
    return entry


def _serialize(entry: MemoryEntry, fields: Sequence[str] = LISTED_FIELDS) -> dict[str, Any]:
    return {name: getattr(entry, name) for name in fields}


SUBCOMMANDS: Mapping[str, Callable[[Account, Namespace], Rows]] = {
    "search": _search,
    "list": _list,
    "get": _get,
    "history": _history,
    "add": _add,
    "update": _update,
    "delete": _delete,
}
_LINE = ("id", "kind", "status", "user_id", "content")
COLUMNS: Mapping[str, Sequence[str]] = {
    "search": ("score", "id", "kind", "user_id", "content"),
    "history": ("version", "event", "actor", "created_at", "content"),
    **dict.fromkeys(("list", "add", "update", "delete"), _LINE),
}


def format_table(rows: Rows, columns: Sequence[str]) -> str:
    """Return a table; without columns, one line for each field."""
    if not columns:
        return "\n".join(f"{name:<14}{value}" for row in rows for name, value in row.items())
    if not rows:
        return "Nothing."
    cells = [[*columns], *([_cell(row[name]) for name in columns] for row in rows)]
    widths = [max(map(_columns, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        "  ".join(_padded(cell, width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in cells
    )


def _cell(value: Any) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= WIDTH else text[: WIDTH - 1] + "…"


def _padded(cell: str, width: int) -> str:
    return cell + " " * (width - _columns(cell))


def _columns(text: Iterable[str]) -> int:
    """Return the width on a terminal, where Chinese characters take two columns."""
    return sum(2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in text)
