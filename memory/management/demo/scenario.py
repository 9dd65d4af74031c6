"""What the demo tells, read from the files beside this one."""

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
    """One file's part of the story, in the order in which it happened."""

    runs: Sequence[Batch]
    memories: Batch
    approved: Batch  # everyone's, after a person said yes
    proposals: Batch  # everyone's, waiting for a person
    pinned: Sequence[str]  # client ids
    forgotten: Mapping[str, str]  # client id to the reason


def chapters() -> Iterator[Chapter]:
    for name in FILES:
        yield _chapter(json.loads(Path(__file__).with_name(name).read_text()))


def _chapter(told: Mapping[str, Any]) -> Chapter:
    plain = [*told["memories"], *told["approved"]]
    return Chapter(
        runs=[_run(each) for each in told["runs"]],
        memories=_batch(told["memories"]),
        approved=_batch(told["approved"]),
        proposals=_batch(told["proposals"]),
        pinned=[_client_id(each["id"]) for each in plain if each.get("pin")],
        forgotten={_client_id(e["id"]): e["forget"] for e in plain if "forget" in e},
    )


def _client_id(name: str) -> str:
    return f"demo-{name}"


def _run(told: Mapping[str, Any]) -> Batch:
    """A conversation: one entry for each turn."""
    start = datetime.fromisoformat(told["start"])
    return Batch(
        reason="conversation",
        entries=[
            NewEntry(
                client_id=_client_id(f"{told['id']}-{number}"),
                text=text,
                kind="event",
                metadata={"speaker": speaker},
                user_id=told["user"],
                agent_id=told["agent"],
                app_id=told["app"],
                run_id=told["id"],
                visibility="user",
                observed_at=start + number * BETWEEN_TURNS,
            )
            for number, (speaker, text) in enumerate(told["turns"], start=1)
        ],
    )


def _batch(told: Sequence[Mapping[str, Any]]) -> Batch:
    return Batch(
        reason="demo",
        entries=[_entry(each) for each in told],
        edges=[
            _edge(each["id"], kind, each[key])
            for each in told
            for key, kind in (
                ("from", MemoryEdge.Type.DERIVED_FROM),
                ("supersedes", MemoryEdge.Type.SUPERSEDES),
            )
            if key in each
        ],
    )


def _entry(told: Mapping[str, Any]) -> NewEntry:
    return NewEntry(
        client_id=_client_id(told["id"]),
        text=told["text"],
        title=told.get("title", ""),
        kind=told["kind"],
        tags=told.get("tags", ()),
        entities=told.get("entities", ()),
        user_id=told.get("user", ""),
        agent_id=told["agent"],
        visibility="user" if "user" in told else "account",
        importance=told.get("importance", 0.5),
        observed_at=datetime.fromisoformat(told["day"]).replace(tzinfo=UTC),
    )


def _edge(src: str, kind: str, dst: str) -> NewEdge:
    ends = (EdgeEnd(client_id=_client_id(name)) for name in (src, dst))
    return NewEdge(type=kind, src=next(ends), dst=next(ends))
