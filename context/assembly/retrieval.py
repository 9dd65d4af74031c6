"""Retrieval from memory, knowledge and rules for one call.

The query vector is requested once, outside of any transaction. Then each source runs in its own
transaction within the remaining time. A source that fails or is too slow is skipped and a decision
records it: retrieval never fails a call.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from time import monotonic
from typing import Any
from uuid import UUID

import structlog

from context.assembly.build_snippets import (
    knowledge_snippet,
    lore_snippet,
    memory_snippet,
    rule_citation,
)
from context.assembly.prompt_inputs import RuleOutcome, Snippet
from context.assembly.remote_retrieval import search_remote
from context.assembly.retrieval_request import REMOTE_SOURCES, RetrievalRequest
from context.assembly.source_deadline import limit_source
from context.assembly.token_counts import encode_json
from kmapp.accounts.acting import acting
from kmapp.providers.breaker import get_breaker
from kmapp.providers.errors import ProviderError
from kmapp.search.query_vector import QueryVector, load_query_vector
from knowledge.lore.account_lorebooks import evaluate_entries, load_entries
from knowledge.lore.lorebook_evaluation import TriggerSettings
from knowledge.retrieval import search as documents
from memory.models import MemorySettings, Viewer
from memory.retrieval.access_counters import count_accesses
from memory.retrieval.active_rankings import apply_rankings
from memory.retrieval.prompt_block import MEMORY_OFF_DECISION, search_run_and_all
from memory.retrieval.search import SearchRequest as MemorySearch
from rules.actions.decisions import evaluate_rules
from rules.editing.rule_input import parse_scope
from rules.evaluation.matching import RuleViewer
from rules.evaluation.tool_selection import SelectionRequest, select_tool

log = structlog.get_logger()

REMOTE_SHARE = 0.5  # of the remaining time, for another kmapp; the rest is for the local fallback
MIN_MS = 20  # with less time left, a source is skipped
# Minimum for rules, whatever the deadline, because a call without their outcome has no tools.
RULES_MS = 2_000
RULES = "rules"
LORE_TOKENS = 1_000
# Not a degradation, so that the report lists it separately.
QUERY_VECTOR_CACHED = "km_query_vector_cached"


@dataclass(slots=True)
class Retrieved:
    snippets: list[Snippet] = field(default_factory=list)
    rule_outcome: RuleOutcome = field(default_factory=RuleOutcome)
    decisions: list[dict[str, Any]] = field(default_factory=list)
    timings: dict[str, float] = field(default_factory=dict)  # milliseconds
    meaning: QueryVector | None = None  # of the query
    cached: bool = False  # the query vector came from the cache


def retrieve(request: RetrievalRequest) -> Retrieved:
    """Query every requested source. Opens `acting` itself.

    Rules are first, and then the others that need no query vector: no rule may be left out because
    another source or an embedder is slow. If rules fail, no tool is offered, as any may be denied.
    """
    results, started = Retrieved(), monotonic()
    if RULES in request.sources:
        results.rule_outcome = RuleOutcome(barred=request.tools)  # until the rules are evaluated
    for name in sorted(request.sources, key=_source_order):
        if name in REMOTE_SOURCES and request.query and "meaning" not in results.timings:
            _load_meaning(request, results)
        source_started = monotonic()
        left = request.deadline_ms - _milliseconds_since(started)
        if not _query_remote(name, request, results, left=left):
            left = request.deadline_ms - _milliseconds_since(started)
            _query_source(name, request, results, left=left)
        results.timings[name] = _milliseconds_since(source_started)
    return results


def _source_order(name: str) -> tuple[bool, bool]:
    return (name in REMOTE_SOURCES, name != RULES)


def _load_meaning(request: RetrievalRequest, results: Retrieved) -> None:
    started = monotonic()
    decisions: list[Mapping[str, Any]] = []
    results.meaning = load_query_vector(request.account_id, request.query, decisions)
    results.cached = QUERY_VECTOR_CACHED in {decision["code"] for decision in decisions}
    results.decisions += [
        {"action": decision["code"], **decision}
        for decision in decisions
        if decision["code"] != QUERY_VECTOR_CACHED
    ]
    results.timings["meaning"] = _milliseconds_since(started)


def _milliseconds_since(moment: float) -> float:
    return round((monotonic() - moment) * 1000, 2)


def _query_remote(name: str, request: RetrievalRequest, results: Retrieved, *, left: float) -> bool:
    """Query another kmapp; return whether it responded. Otherwise the local source runs."""
    remote = request.remote
    if not remote or name not in remote.sources or not request.query or left < 2 * MIN_MS:
        return False
    if name == "memory" and not _is_memory_enabled(request.account_id):
        return False  # the local source records the decision
    common = {"source": name, "remote": remote.base_url}
    try:
        snippets = search_remote(remote, name, request, REMOTE_SHARE * left / 1000)
    except ProviderError as error:
        reason = {"code": error.code, "message": error.message}
    except Exception:  # no failure of a source may fail the call
        log.exception("remote_retrieval_failed", source=name)
        message = "The response of the other kmapp could not be processed."
        reason = {"code": "retrieval_failed", "message": message}
    else:
        results.snippets += snippets
        results.decisions.append({"action": "km_remote", **common, "found": len(snippets)})
        return True
    results.decisions.append({"action": "km_fallback_local", **common, **reason})
    return False


def _is_memory_enabled(account_id: UUID) -> bool:
    with acting(account_id):
        return MemorySettings.objects.get_or_default(account_id).memory_enabled


def _query_source(name: str, request: RetrievalRequest, results: Retrieved, *, left: float) -> None:
    if name == RULES:
        left = max(left, RULES_MS)
    if left < MIN_MS:
        results.decisions.append({"action": "km_timeout", "source": name, "left_ms": round(left)})
        return
    partial = Retrieved(meaning=results.meaning)
    try:
        with _guard_source(name, request), limit_source(request.account_id, left):
            SOURCES[name](request, partial)
    except ProviderError as error:
        results.decisions.append({"action": error.code, "source": name, "message": error.message})
        return
    except Exception:  # no failure of a source may fail the call
        log.exception("retrieval_failed", source=name)
        results.decisions.append({"action": "retrieval_failed", "source": name})
        return
    results.snippets += partial.snippets
    results.decisions += partial.decisions
    if name == RULES:
        results.rule_outcome = partial.rule_outcome


def _guard_source(name: str, request: RetrievalRequest) -> AbstractContextManager[None]:
    """Return the circuit breaker of a source for this account, whose data may be slow to search.

    Calls with a shorter deadline than usual are not counted, because a timeout in such a call does
    not mean that the source is slow.
    """
    if not request.has_usual_deadline:
        return nullcontext()
    endpoint = f"retrieval://{name}?account={request.account_id}"
    return get_breaker(endpoint, is_shared=False).guard()


# --- Memory ---------------------------------------------------------------------------------------


def search_memory(request: RetrievalRequest, results: Retrieved) -> None:
    policy = MemorySettings.objects.get_or_default(request.account_id)
    if not policy.memory_enabled:
        results.decisions.append({"action": MEMORY_OFF_DECISION["code"], "source": "memory"})
        return
    if not request.query:
        return
    ids = {name: getattr(request, name) for name in ("user_id", "agent_id", "app_id", "run_id")}
    search = MemorySearch(
        query=request.query,
        viewer=Viewer(**ids, scope=request.scope or None),
        limit=request.limit,
        min_score=max(request.min_score, policy.min_score),
        variant=request.variant,
    )
    search = apply_rankings(request.account_id, search, with_shadow=request.count_access)
    hits = search_run_and_all(request.account_id, search, results.meaning)
    if request.count_access:
        count_accesses(request.account_id, [hit.entry.pk for hit in hits])
    results.snippets += [memory_snippet(hit, search.variant) for hit in hits]


# --- Knowledge and lore ---------------------------------------------------------------------------


def search_knowledge(request: RetrievalRequest, results: Retrieved) -> None:
    if not request.query:
        return
    search = documents.KnowledgeSearch(
        query=request.query,
        limit=request.limit,
        sources=request.knowledge_sources,
        min_score=request.min_score,
        variant=request.variant,
    )
    snippets = documents.search_with_vector(request.account_id, search, results.meaning)
    results.snippets += [knowledge_snippet(snippet, request.variant) for snippet in snippets]


def search_lore(request: RetrievalRequest, results: Retrieved) -> None:
    rows = load_entries(request.account_id, request.lorebooks)
    if not rows:
        return
    outcome = evaluate_entries(
        rows, request.recent_messages, TriggerSettings(budget=LORE_TOKENS, scope=request.scope)
    )
    by_id = {str(row.pk): row for row in rows}
    results.snippets += [
        lore_snippet(by_id[fired.entry.id], fired, request.variant) for fired in outcome.included
    ]


# --- Rules ----------------------------------------------------------------------------------------


def add_rule_outcome(request: RetrievalRequest, results: Retrieved) -> None:
    """Add the outcome of the active rules: a text, and the denied tools."""
    viewer_ids = {name: getattr(request, name) for name in ("user_id", "agent_id", "app_id")}
    named = {name: value for name, value in viewer_ids.items() if value}
    question = SelectionRequest(
        context={**named, **request.rules_context},
        viewer=RuleViewer(**viewer_ids, scope=parse_scope(request.scope)),
        candidates=request.tools,
    )
    answer = evaluate_rules(request.account_id, question, with_shadow=False)
    # Strict: an allow-list with none of the offered tools leaves none.
    chosen = select_tool(answer.policy, request.tools, strict=True)
    values = dict(answer.policy.values)
    if chosen.preferred:
        values["tool.prefer"] = list(chosen.preferred)
    results.rule_outcome = RuleOutcome(
        text="\n".join(f"- {name}: {encode_json(value)}" for name, value in sorted(values.items())),
        barred=tuple(name for name, _why in chosen.denied),
        citations=[
            rule_citation(request.account_id, match.rule, request.variant)
            for match in answer.matched.live
        ],
    )


SOURCES: Mapping[str, Callable[[RetrievalRequest, Retrieved], None]] = {
    "rules": add_rule_outcome,
    "lore": search_lore,
    "memory": search_memory,
    "knowledge": search_knowledge,
}
