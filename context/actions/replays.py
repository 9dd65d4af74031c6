"""Replays of recorded calls, with the same or with another policy.

With another variant, memory and knowledge are queried again in their present state.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from context.actions.record_call import SCALAR_FIELDS
from context.assembly.assembly_policy import DEFAULT, AssemblyPolicy
from context.assembly.budget_enforcement import BudgetExceeded, Draft, fit_into_budget
from context.assembly.prompt_fence import create_nonce
from context.assembly.prompt_inputs import CallInput, RuleOutcome, Section, Snippet, StoredSummary
from context.assembly.retrieval import retrieve
from context.assembly.retrieval_request import RetrievalRequest
from context.models import ContextBody, ContextCostReport, ContextInput, ContextSettings
from context.reports.call_report import SECTIONS, build_report
from kmapp.accounts.acting import acting
from kmapp.errors import Gone
from kmapp.providers.errors import ProviderError
from kmapp.search.variants import VARIANTS

VARIED_SOURCES = ("memory", "knowledge")  # variants do not affect lore and rules
RETRIEVAL_MS = 10_000  # longer than for a call, because no caller waits
FAILURES = frozenset(
    {"km_timeout", "km_circuit_open", "km_provider_error", "km_fallback_local", "retrieval_failed"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedCall:
    """The inputs of a recorded call, and its policy."""

    report: ContextCostReport
    call_input: CallInput
    policy: AssemblyPolicy
    query: str = ""
    retrieval: Mapping[str, Any] | None = None  # retrieval settings; None in rows of older releases
    snippets_by_variant: Mapping[str, Sequence[Snippet]] = field(default_factory=dict)


def load_recorded_calls(
    account_id: UUID, reports: Sequence[ContextCostReport]
) -> dict[UUID, RecordedCall]:
    """Return the calls whose inputs are complete. Inside `acting`; three queries."""
    rows = ContextInput.objects.of(account_id).filter(report__in=[row.pk for row in reports])
    inputs = {row.report_id: row for row in rows}
    body_ids = {pk for row in inputs.values() for pk in list_bodies(row)}
    texts = ContextBody.objects.of(account_id).filter(pk__in=body_ids)
    bodies = {pk: json.loads(text) for pk, text in texts.values_list("pk", "text")}
    return {
        row.pk: RecordedCall(
            report=row,
            call_input=_build_call_input(row, inputs[row.pk], bodies),
            policy=DEFAULT.with_changes(row.report["policy"]),
            query=inputs[row.pk].rest["query"],
            retrieval=inputs[row.pk].rest.get("wanted"),
        )
        for row in reports
        if row.pk in inputs and all(pk in bodies for pk in list_bodies(inputs[row.pk]))
    }


def get_recorded_call(account_id: UUID, report: ContextCostReport) -> RecordedCall:
    """Return the recorded call. Raises Gone if its inputs are incomplete. Inside `acting`."""
    recorded_calls = load_recorded_calls(account_id, [report])
    if report.pk not in recorded_calls:
        raise Gone(
            "The inputs of this call have expired or were erased. Its report is still available.",
            code="inputs_expired",
        )
    return recorded_calls[report.pk]


def has_inputs(account_id: UUID, report_id: UUID) -> bool:
    """Return whether all inputs exist, without reading them. Inside `acting`."""
    row = ContextInput.objects.of(account_id).filter(report=report_id).first()
    if row is None:
        return False
    ids = set(list_bodies(row))
    return ContextBody.objects.of(account_id).filter(pk__in=ids).count() == len(ids)


def list_bodies(row: ContextInput) -> list[UUID]:
    texts = [item["text"] for name in ("sections", "snippets") for item in row.rest[name]]
    return [*row.messages, *(UUID(pk) for pk in (*row.rest["tools"], *texts))]


def _build_call_input(
    report: ContextCostReport, row: ContextInput, bodies: Mapping[UUID, Any]
) -> CallInput:
    rest = row.rest

    def with_text(item: Mapping[str, Any]) -> dict[str, Any]:
        return {**item, "text": bodies[UUID(item["text"])]}

    bound, compacted = rest["bound"], rest.get("compacted")
    return CallInput(
        messages=[bodies[pk] for pk in row.messages],
        window=report.window,
        reserve=report.reserve,
        sections=[Section(**with_text(item)) for item in rest["sections"]],
        tools=[bodies[UUID(pk)] for pk in rest["tools"]],
        snippets=[Snippet(**with_text(item)) for item in rest["snippets"]],
        query=rest["query"],
        rule_outcome=RuleOutcome(**{**bound, "barred": tuple(bound["barred"])}),
        groups=rest["groups"],
        required_tools=tuple(rest["required_tools"]),
        pointers={key: UUID(pk) for key, pk in rest["pointers"].items()},
        compacted=StoredSummary(**compacted) if compacted else None,
        **{name: rest[name] for name in SCALAR_FIELDS},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    policy: Mapping[str, Any]
    window: int | None = None
    reserve: int | None = None
    profile: str | None = None
    variant: str | None = None  # None: the recorded snippets

    def apply_to(self, recorded_call: RecordedCall) -> tuple[CallInput, AssemblyPolicy]:
        values = {name: getattr(self, name) for name in ("window", "reserve", "profile")}
        changes = {name: value for name, value in values.items() if value is not None}
        call_input = replace(recorded_call.call_input, **changes)
        if self.variant:
            snippets = recorded_call.snippets_by_variant[self.variant]
            texts, nonce = [item.text for item in snippets], call_input.nonce
            if any(nonce in text for text in texts):
                nonce = create_nonce(texts)
            call_input = replace(call_input, snippets=snippets, nonce=nonce)
        return call_input, recorded_call.policy.with_changes(self.policy)


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """A call before and after the changes; None where it does not fit."""

    recorded_call: RecordedCall
    before: Draft | None
    after: Draft | None

    @property
    def differences(self) -> dict[str, Any]:
        """Return the tokens by section, and what only one of the two contains."""
        left, right = _summarise_draft(self.before), _summarise_draft(self.after)
        return {
            "fits_before": self.before is not None,
            "fits_after": self.after is not None,
            "tokens": {
                name: {"before": left["tokens"][name], "after": right["tokens"][name]}
                for name in ("total", *SECTIONS)
            },
            **{
                f"{kind}_{direction}": sorted(side[kind] - other[kind])
                for kind in ("evidence", "tools", "messages")
                for direction, side, other in (("lost", left, right), ("gained", right, left))
            },
            "dropped": {"before": left["dropped"], "after": right["dropped"]},
            "actions": {"before": left["actions"], "after": right["actions"]},
        }


def _summarise_draft(draft: Draft | None) -> dict[str, Any]:
    if draft is None:
        tokens = dict.fromkeys(("total", *SECTIONS), 0)
        content = dict.fromkeys(("evidence", "tools", "messages"), frozenset[Any]())
        return {"tokens": tokens, **content, "dropped": 0, "actions": []}
    report, call_input = build_report(draft), draft.call_input
    # A message that is shortened counts as lost.
    complete = {row.index for row in draft.rows if row.state == "whole"}
    items = len(call_input.messages) + len(call_input.snippets) + len(draft.all_tools)
    return {
        "tokens": report["estimated_tokens"],
        "evidence": {f"{item.source}:{item.ref}" for item in draft.snippets},
        "tools": {tool.name for tool in draft.tools},
        "messages": complete,
        "dropped": items - len(complete) - len(draft.snippets) - len(draft.tools),
        "actions": [item["action"] for item in report["decisions"]],
    }


NO_CHANGES = Changes(policy={})


def retrieve_again(
    account_id: UUID, recorded_call: RecordedCall, *changes: Changes
) -> RecordedCall:
    """Return the call with the results of each variant in the changes.

    Opens `acting` itself. Raises Gone for calls without retrieval settings, and ProviderError if a
    source fails, because partial results cannot be compared.
    """
    names = dict.fromkeys(item.variant for item in changes if item.variant)
    if names and recorded_call.retrieval is None:
        raise Gone(
            "This call was recorded without retrieval settings, so it has no variants.",
            code="inputs_expired",
        )
    snippets = {name: _retrieve_variant(account_id, recorded_call, name) for name in names}
    return replace(recorded_call, snippets_by_variant=snippets)


def _retrieve_variant(account_id: UUID, recorded_call: RecordedCall, variant: str) -> list[Snippet]:
    report, retrieval = recorded_call.report, recorded_call.retrieval or {}
    ids = {name: getattr(report, name) for name in ("account_id", "user_id", "agent_id", "app_id")}
    sources = tuple(name for name in retrieval["sources"] if name in VARIED_SOURCES)
    with acting(account_id):
        remote = ContextSettings.objects.get_or_default(account_id).remote()
    retrieved = retrieve(
        RetrievalRequest(
            **ids,
            query=recorded_call.query,
            sources=sources,
            run_id=report.conversation_id,
            scope=retrieval["scope"],
            limit=retrieval["limit"],
            min_score=recorded_call.policy.min_score,
            deadline_ms=RETRIEVAL_MS,
            knowledge_sources=tuple(retrieval["knowledge_sources"]),
            variant=VARIANTS[variant],
            remote=remote,
            count_access=False,
        )
    )
    if failed := [item for item in retrieved.decisions if item["action"] in FAILURES]:
        raise ProviderError(f"A source did not answer: {failed[0]['action']}.")
    recorded = recorded_call.call_input.snippets
    unvaried = [item for item in recorded if item.source not in VARIED_SOURCES]
    return [*unvaried, *retrieved.snippets]


def replay(recorded_call: RecordedCall, changes: Changes = NO_CHANGES) -> Replay:
    """Return the call as recorded and with these changes."""
    return compare_changes(recorded_call, NO_CHANGES, changes)


def compare_changes(recorded_call: RecordedCall, left: Changes, right: Changes) -> Replay:
    before = _fit(*left.apply_to(recorded_call))
    after = before if right == left else _fit(*right.apply_to(recorded_call))
    return Replay(recorded_call=recorded_call, before=before, after=after)


def _fit(call_input: CallInput, policy: AssemblyPolicy) -> Draft | None:
    try:
        return fit_into_budget(call_input, policy)
    except BudgetExceeded:
        return None
