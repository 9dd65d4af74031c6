"""The demo data, read from the JSON files in this folder."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from memory.models import MemoryEdge
from memory.models.entry_input import Batch, EdgeEnd, NewEdge, NewEntry

FILES = ("en.json", "zh.json")
BETWEEN_TURNS = timedelta(seconds=40)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chapter:
    """The content of one file, in chronological order."""

    runs: Sequence[Batch]
    memories: Batch
    approved: Batch  # account-wide, approved by a person
    proposals: Batch  # account-wide, pending review
    pinned: Sequence[str]  # client ids
    forgotten: Mapping[str, str]  # client id to the reason


def chapters() -> Iterator[Chapter]:
    for name in FILES:
        yield _chapter(json.loads(Path(__file__).with_name(name).read_text()))


def _chapter(data: Mapping[str, Any]) -> Chapter:
    plain = [*data["memories"], *data["approved"]]
    return Chapter(
        runs=[_run(each) for each in data["runs"]],
        memories=_batch(data["memories"]),
        approved=_batch(data["approved"]),
        proposals=_batch(data["proposals"]),
        pinned=[_client_id(each["id"]) for each in plain if each.get("pin")],
        forgotten={_client_id(e["id"]): e["forget"] for e in plain if "forget" in e},
    )


def _client_id(name: str) -> str:
    return f"demo-{name}"


def _run(data: Mapping[str, Any]) -> Batch:
    """Return a conversation as a batch with one entry per turn."""
    start = datetime.fromisoformat(data["start"])
    return Batch(
        reason="conversation",
        entries=[
            NewEntry(
                client_id=_client_id(f"{data['id']}-{number}"),
                text=text,
                kind="event",
                metadata={"speaker": speaker},
                user_id=data["user"],
                agent_id=data["agent"],
                app_id=data["app"],
                run_id=data["id"],
                visibility="user",
                observed_at=start + number * BETWEEN_TURNS,
            )
            for number, (speaker, text) in enumerate(data["turns"], start=1)
        ],
    )


def _batch(data: Sequence[Mapping[str, Any]]) -> Batch:
    return Batch(
        reason="demo",
        entries=[_entry(each) for each in data],
        edges=[
            _edge(each["id"], kind, each[key])
            for each in data
            for key, kind in (
                ("from", MemoryEdge.Type.DERIVED_FROM),
                ("supersedes", MemoryEdge.Type.SUPERSEDES),
            )
            if key in each
        ],
    )


def _entry(data: Mapping[str, Any]) -> NewEntry:
    return NewEntry(
        client_id=_client_id(data["id"]),
        text=data["text"],
        title=data.get("title", ""),
        kind=data["kind"],
        tags=data.get("tags", ()),
        entities=data.get("entities", ()),
        user_id=data.get("user", ""),
        agent_id=data["agent"],
        visibility="user" if "user" in data else "account",
        importance=data.get("importance", 0.5),
        observed_at=datetime.fromisoformat(data["day"]).replace(tzinfo=UTC),
    )


def _edge(src: str, kind: str, dst: str) -> NewEdge:
    ends = (EdgeEnd(client_id=_client_id(name)) for name in (src, dst))
    return NewEdge(type=kind, src=next(ends), dst=next(ends))
