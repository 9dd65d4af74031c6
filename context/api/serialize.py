"""Serialization of tool results."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, cast

from context.actions.prepare_messages import Prepared
from context.api.response_types import (
    Archive,
    ArchiveHit,
    ArchivePassage,
    Loaded,
    LoadedWhy,
    PreparedAnswer,
)
from context.archives.search import Hit, LoadedPassages
from context.assembly import token_counts
from context.assembly.budget import EXTRACTIVE
from context.assembly.messages import Message
from context.models import ToolResultArchive
from kmapp.text import tokens


def serialize_archive(row: ToolResultArchive) -> Archive:
    ids = ("tool_call_id", "conversation_id", "thread_id", "user_id", "agent_id")
    fields = ("tool_name", "query_summary", "result_summary", "result_length", "sha256")
    archive = {
        "uuid": row.pk,
        **{name: getattr(row, name) for name in (*fields, "created_at", "commit_id")},
        **{name: getattr(row, name) or None for name in (*ids, "extractive")},
        "summary_by": row.summary_by or EXTRACTIVE,
        "sources": list(row.sources),
    }
    return cast("Archive", archive)


def serialize_range(row: ToolResultArchive, start: int | None, end: int | None) -> Loaded:
    """Return the result, or the characters of a range."""
    first = min(start or 0, row.result_length)
    last = row.result_length if end is None else min(end, row.result_length)
    text = row.result_full[first:last]
    part = "whole" if len(text) == row.result_length else "range"
    place = {"part": part, "start": first, "end": last, "tokens": tokens.count(text)}
    return _serialize_loaded(row, content=text, passages=[], decisions=[], **place)


def serialize_passages(loaded: LoadedPassages, decisions: Sequence[Mapping[str, Any]]) -> Loaded:
    scored = [{**asdict(passage), "score": round(score, 6)} for passage, score in loaded.passages]
    first, last = (scored[0]["start"], scored[-1]["end"]) if scored else (0, 0)
    return _serialize_loaded(
        loaded.archive,
        content=loaded.text,
        part="passages",
        start=first,
        end=last,
        tokens=loaded.tokens,
        passages=scored,
        decisions=[dict(item) for item in decisions],
    )


def _serialize_loaded(row: ToolResultArchive, **content: Any) -> Loaded:
    loaded = {"archive": serialize_archive(row), "tool_input": row.tool_input, **content}
    return cast("Loaded", loaded)


def serialize_hit(hit: Hit) -> ArchiveHit:
    passage = cast("ArchivePassage", asdict(hit.passage))
    return {**serialize_archive(hit.archive), "score": hit.score, "passage": passage}


def serialize_prepared(prepared: Prepared, before: Sequence[Message]) -> PreparedAnswer:
    return {
        "messages": [dict(message) for message in prepared.messages],
        "archived": [
            {"uuid": row.pk, "tool_name": row.tool_name, "fresh": row.pk in prepared.new_ids}
            for row in prepared.archived
        ],
        "loaded": [cast("LoadedWhy", dict(item)) for item in prepared.loaded],
        "tokens": {
            "before": token_counts.count_messages(before),
            "after": token_counts.count_messages(prepared.messages),
        },
        "decisions": [dict(item) for item in prepared.decisions],
    }
