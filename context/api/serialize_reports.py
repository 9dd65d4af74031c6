"""Serialization of calls and reports."""

from datetime import timedelta
from typing import Any, cast

from context.actions.retention import inputs_days
from context.api.report_response_types import (
    AssembledCall,
    AssembledSection,
    ContextCost,
    Report,
    ReportBrief,
)
from context.assembly.prompt import build_messages, join_texts
from context.assembly.stages import Recorded
from context.models import ContextCostReport, ContextSettings
from context.reports.call_report import SECTIONS


def serialize_call(recorded: Recorded) -> AssembledCall:
    draft = recorded.assembled.draft
    material = draft.material
    sections: list[AssembledSection] = [
        {"name": part.name, "text": part.text, "tokens": part.tokens, "stable": part.stable}
        for part in (*draft.prefix, *draft.tail)
    ]
    history = [row.message for row in draft.rows]
    messages = build_messages(material.provider, draft.prefix, draft.tail, history)
    return {
        "report_id": recorded.report_id,
        "provider": material.provider,
        "system": join_texts(draft.prefix),
        "sections": sections,
        "messages": [dict(message) for message in messages],
        "tools": [dict(tool.schema) for tool in draft.tools],
        "context_cost": cast("ContextCost", dict(recorded.report)),
    }


def serialize_brief(row: ContextCostReport) -> ReportBrief:
    ids = ("conversation_id", "thread_id", "user_id", "agent_id", "app_id", "model")
    counts = ("input_tokens", "output_tokens", "cached_tokens", "latency_ms")
    outcome = {name: getattr(row, name) for name in ("success", *counts)}
    brief = {
        "id": row.pk,
        **{name: getattr(row, name) or None for name in ids},
        "variant": row.variant,
        "estimated_tokens": {name: getattr(row, name) for name in ("total", *SECTIONS)},
        "actions": row.actions,
        "cost": None if row.cost is None else float(row.cost),
        "outcome": {**outcome, "told_at": row.outcome_at},
        "created_at": row.created_at,
    }
    return cast("ReportBrief", brief)


def serialize_report(
    row: ContextCostReport, settings: ContextSettings, *, has_inputs: bool
) -> Report:
    days = timedelta(days=inputs_days(settings))
    return {
        **serialize_brief(row),
        "context_cost": row.report,
        "attributes": build_attributes(row),
        "inputs_expire_at": row.created_at + days if has_inputs else None,
    }


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
