"""Serialization of tool results, calls and reports."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, cast

from context.actions.insert_placeholders import Prepared
from context.api.response_types import (
    Archive,
    ArchiveHit,
    ArchivePassage,
    AssembledCall,
    EstimatedTokens,
    Loaded,
    LoadedWhy,
    Outcome,
    PreparedAnswer,
    ReportBrief,
)
from context.archives.retrieval import ArchiveMatch, LoadedPassages
from context.assembly import token_counts
from context.assembly.budget_enforcement import EXTRACTIVE
from context.assembly.messages import Message
from context.assembly.prompt import build_messages, join_texts
from context.assembly.stage_data import Recorded
from context.models import ContextCostReport, ToolResultArchive
from kmapp.api.typed_dict_schemas import serialize_as
from kmapp.text import token_counter


def serialize_archive(row: ToolResultArchive) -> Archive:
    return serialize_as(Archive, row, uuid=row.pk, summary_by=row.summary_by or EXTRACTIVE)


def serialize_range(row: ToolResultArchive, start: int | None, end: int | None) -> Loaded:
    """Return the result, or the characters of a range."""
    first = min(start or 0, row.result_length)
    last = row.result_length if end is None else min(end, row.result_length)
    text = row.result_full[first:last]
    part = "whole" if len(text) == row.result_length else "range"
    place = {"part": part, "start": first, "end": last, "tokens": token_counter.count_tokens(text)}
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
    return serialize_as(Loaded, row, archive=serialize_archive(row), **content)


def serialize_hit(hit: ArchiveMatch) -> ArchiveHit:
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


def serialize_call(recorded: Recorded) -> AssembledCall:
    draft = recorded.assembled.draft
    call_input = draft.call_input
    history = [row.message for row in draft.rows]
    messages = build_messages(call_input.provider, draft.prefix, draft.tail, history)
    return serialize_as(
        AssembledCall,
        recorded,
        provider=call_input.provider,
        system=join_texts(draft.prefix),
        sections=[asdict(part) for part in (*draft.prefix, *draft.tail)],
        messages=[dict(message) for message in messages],
        tools=[dict(tool.schema) for tool in draft.tools],
        context_cost=recorded.report,
    )


def serialize_brief(row: ContextCostReport) -> ReportBrief:
    return serialize_as(
        ReportBrief,
        row,
        estimated_tokens=serialize_as(EstimatedTokens, row),
        cost=None if row.cost is None else float(row.cost),
        outcome=serialize_as(Outcome, row, told_at=row.outcome_at),
    )


def build_attributes(row: ContextCostReport) -> dict[str, Any]:
    """Return OpenTelemetry attributes; the provider's counts take precedence over estimates."""
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": row.model or None,
        "gen_ai.conversation.id": row.conversation_id or None,
        "gen_ai.agent.id": row.agent_id or None,
        "gen_ai.usage.input_tokens": row.total if row.input_tokens is None else row.input_tokens,
        "gen_ai.usage.output_tokens": row.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": row.cached_tokens,
    }
    return {name: value for name, value in attributes.items() if value is not None}
