"""Calls as agents see them, and as OpenTelemetry names what they used."""

from datetime import timedelta
from typing import Any, cast

from context.actions.assemble import Done
from context.actions.retention import days_of
from context.api.report_response_types import (
    AssembledCall,
    AssembledSection,
    ContextCost,
    EstimatedTokens,
    Outcome,
    Report,
    ReportBrief,
)
from context.assembly.prompt import sent, text_of
from context.models import ContextCostReport, ContextSettings
from context.reports.call_report import SECTIONS


def call_output(done: Done) -> AssembledCall:
    draft, recorded = done.assembled.draft, done.recorded
    material = draft.material
    sections: list[AssembledSection] = [
        {"name": part.name, "text": part.text, "tokens": part.tokens, "stable": part.stable}
        for part in (*draft.prefix, *draft.tail)
    ]
    history = [row.message for row in draft.rows]
    messages = sent(material.provider, draft.prefix, draft.tail, history)
    return {
        "report_id": recorded.report_id,
        "provider": material.provider,
        "system": text_of(draft.prefix),
        "sections": sections,
        "messages": [dict(message) for message in messages],
        "tools": [dict(tool.schema) for tool in draft.tools],
        "context_cost": cast("ContextCost", dict(recorded.report)),
    }


def brief_output(row: ContextCostReport) -> ReportBrief:
    parts = {name: getattr(row, name) for name in SECTIONS}
    outcome: Outcome = {
        "success": row.success,
        "input_tokens": row.input_tokens,
        "output_tokens": row.output_tokens,
        "cached_tokens": row.cached_tokens,
        "latency_ms": row.latency_ms,
        "told_at": row.outcome_at,
    }
    return {
        "id": row.pk,
        "conversation_id": row.conversation_id or None,
        "thread_id": row.thread_id or None,
        "user_id": row.user_id or None,
        "agent_id": row.agent_id or None,
        "app_id": row.app_id or None,
        "model": row.model or None,
        "variant": row.variant,
        "estimated_tokens": cast("EstimatedTokens", {"total": row.total, **parts}),
        "actions": row.actions,
        "cost": None if row.cost is None else float(row.cost),
        "outcome": outcome,
        "created_at": row.created_at,
    }


def report_output(row: ContextCostReport, settings: ContextSettings, *, has_inputs: bool) -> Report:
    days = timedelta(days=days_of(settings))
    return {
        **brief_output(row),
        "context_cost": row.report,
        "attributes": attributes_of(row),
        "inputs_expire_at": row.created_at + days if has_inputs else None,
    }


def attributes_of(row: ContextCostReport) -> dict[str, Any]:
    """OpenTelemetry's names; what the provider counted stands before what we estimated."""
    said = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": row.model or None,
        "gen_ai.conversation.id": row.conversation_id or None,
        "gen_ai.agent.id": row.agent_id or None,
        "gen_ai.usage.input_tokens": row.total if row.input_tokens is None else row.input_tokens,
        "gen_ai.usage.output_tokens": row.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": row.cached_tokens,
    }
    return {name: value for name, value in said.items() if value is not None}
