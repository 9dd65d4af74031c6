"""Rows as agents see them."""

from collections.abc import Mapping, Sequence
from typing import Any

from context.actions.prepare_messages import Prepared
from context.api.response_types import Archive, ArchiveHit, ArchivePassage, Loaded, PreparedAnswer
from context.archives.passages import Passage
from context.archives.search import Hit, Told
from context.assembly import token_counts
from context.assembly.budget import EXTRACTIVE
from context.assembly.messages import Message
from context.models import ToolResultArchive
from kmapp.text import tokens


def archive_output(row: ToolResultArchive) -> Archive:
    return {
        "uuid": row.pk,
        "tool_name": row.tool_name,
        "tool_call_id": row.tool_call_id or None,
        "conversation_id": row.conversation_id or None,
        "thread_id": row.thread_id or None,
        "user_id": row.user_id or None,
        "agent_id": row.agent_id or None,
        "query_summary": row.query_summary,
        "result_summary": row.result_summary,
        "summary_by": row.summary_by or EXTRACTIVE,
        "extractive": row.extractive or None,
        "result_length": row.result_length,
        "sources": list(row.sources),
        "sha256": row.sha256,
        "created_at": row.created_at,
        "commit_id": row.commit_id,
    }


def range_output(row: ToolResultArchive, start: int | None, end: int | None) -> Loaded:
    """All of it, or what lies between two characters."""
    first = min(start or 0, row.result_length)
    last = row.result_length if end is None else min(end, row.result_length)
    text = row.result_full[first:last]
    return {
        "archive": archive_output(row),
        "tool_input": row.tool_input,
        "content": text,
        "part": "whole" if len(text) == row.result_length else "range",
        "start": first,
        "end": last,
        "tokens": tokens.count(text),
        "passages": [],
        "decisions": [],
    }


def passages_output(told: Told, decisions: Sequence[Mapping[str, Any]]) -> Loaded:
    found = [_passage(passage, score) for passage, score in told.passages]
    return {
        "archive": archive_output(told.archive),
        "tool_input": told.archive.tool_input,
        "content": told.text,
        "part": "passages",
        "start": found[0]["start"] if found else 0,
        "end": found[-1]["end"] if found else 0,
        "tokens": told.tokens,
        "passages": found,
        "decisions": [dict(each) for each in decisions],
    }


def _passage(passage: Passage, score: float) -> ArchivePassage:
    return {
        "start": passage.start,
        "end": passage.end,
        "text": passage.text,
        "score": round(score, 6),
    }


def hit_output(hit: Hit) -> ArchiveHit:
    where: ArchivePassage = {
        "start": hit.passage.start,
        "end": hit.passage.end,
        "text": hit.passage.text,
    }
    return {**archive_output(hit.archive), "score": hit.score, "passage": where}


def prepared_output(prepared: Prepared, before: Sequence[Message]) -> PreparedAnswer:
    return {
        "messages": [dict(message) for message in prepared.messages],
        "archived": [
            {"uuid": row.pk, "tool_name": row.tool_name, "fresh": row.pk in prepared.fresh}
            for row in prepared.archived
        ],
        "loaded": [
            {
                "uuid": each["uuid"],
                "part": each["part"],
                "tokens": each["tokens"],
                "why": dict(each["why"]),
            }
            for each in prepared.loaded
        ],
        "tokens": {
            "before": token_counts.of_messages(before),
            "after": token_counts.of_messages(prepared.messages),
        },
        "decisions": [dict(each) for each in prepared.decisions],
    }
