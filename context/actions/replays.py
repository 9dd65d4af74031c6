"""Recorded calls made again: of the same material, under the same policy or another.

Under another variant, memory and knowledge are asked again, as they are now: `varied`.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from context.assembly.budget import DoesNotFit, Draft, fitted
from context.assembly.calls import Bound, Compacted, Material, Section, Snippet
from context.assembly.fence import nonce_for
from context.assembly.policies import DEFAULT, Policy
from context.assembly.retrieval_requests import Wanted
from context.assembly.sources import retrieve
from context.models import ContextBody, ContextCostReport, ContextInput, ContextSettings
from context.reports.call_report import SECTIONS, reported
from kmapp.accounts.acting import acting
from kmapp.errors import Gone
from kmapp.providers.errors import ProviderError
from kmapp.search.variants import VARIANTS

VARIED = ("memory", "knowledge")  # what a variant ranks; lore and rules stay as they were
UNHURRIED = 10_000  # milliseconds: nobody waits as a call does
FAILURES = frozenset(
    {"km_timeout", "km_circuit_open", "km_provider_error", "km_fallback_local", "retrieval_failed"}
)
SCALARS = ("profile", "provider", "language", "nonce")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """What a call was made of, and the policy that it was made by."""

    report: ContextCostReport
    material: Material
    policy: Policy
    query: str = ""
    wanted: Mapping[str, Any] | None = None  # how it was looked for; older rows do not say
    found: Mapping[str, Sequence[Snippet]] = field(default_factory=dict)  # by variant


def recordings(account_id: UUID, reports: Sequence[ContextCostReport]) -> dict[UUID, Recording]:
    """By report, those whose inputs are all still there. Inside `acting`; three queries."""
    rows = ContextInput.objects.of(account_id).filter(report__in=[row.pk for row in reports])
    inputs = {row.report_id: row for row in rows}
    wanted = {pk for row in inputs.values() for pk in bodies_of(row)}
    texts = ContextBody.objects.of(account_id).filter(pk__in=wanted)
    bodies = {pk: json.loads(text) for pk, text in texts.values_list("pk", "text")}
    return {
        row.pk: Recording(
            report=row,
            material=_material(row, inputs[row.pk], bodies),
            policy=DEFAULT.with_changes(row.report["policy"]),
            query=inputs[row.pk].rest["query"],
            wanted=inputs[row.pk].rest.get("wanted"),
        )
        for row in reports
        if row.pk in inputs and all(pk in bodies for pk in bodies_of(inputs[row.pk]))
    }


def recording_of(account_id: UUID, report: ContextCostReport) -> Recording:
    """Raises Gone when a part of its inputs has expired or was erased. Inside `acting`."""
    found = recordings(account_id, [report])
    if report.pk not in found:
        raise Gone(
            "What this call was made of is kept no longer; its account stays.",
            code="inputs_expired",
        )
    return found[report.pk]


def has_inputs(account_id: UUID, report_id: UUID) -> bool:
    """Whether they are all still there; the parts themselves are not read. Inside `acting`."""
    row = ContextInput.objects.of(account_id).filter(report=report_id).first()
    if row is None:
        return False
    named = set(bodies_of(row))
    return ContextBody.objects.of(account_id).filter(pk__in=named).count() == len(named)


def bodies_of(row: ContextInput) -> list[UUID]:
    """Every part that a call refers to."""
    texts = [each["text"] for name in ("sections", "snippets") for each in row.rest[name]]
    return [*row.messages, *(UUID(pk) for pk in (*row.rest["tools"], *texts))]


def _material(report: ContextCostReport, row: ContextInput, bodies: Mapping[UUID, Any]) -> Material:
    rest = row.rest

    def with_text(each: Mapping[str, Any]) -> dict[str, Any]:
        return {**each, "text": bodies[UUID(each["text"])]}

    bound, compacted = rest["bound"], rest.get("compacted")
    return Material(
        messages=[bodies[pk] for pk in row.messages],
        window=report.window,
        reserve=report.reserve,
        sections=[Section(**with_text(each)) for each in rest["sections"]],
        tools=[bodies[UUID(pk)] for pk in rest["tools"]],
        snippets=[Snippet(**with_text(each)) for each in rest["snippets"]],
        bound=Bound(**{**bound, "barred": tuple(bound["barred"])}),
        groups=rest["groups"],
        required_tools=tuple(rest["required_tools"]),
        pointers={key: UUID(pk) for key, pk in rest["pointers"].items()},
        compacted=Compacted(**compacted) if compacted else None,
        **{name: rest[name] for name in SCALARS},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What is to be different when a call is made again."""

    policy: Mapping[str, Any]
    window: int | None = None
    reserve: int | None = None
    profile: str | None = None
    variant: str | None = None  # None: what was found then

    def on(self, recording: Recording) -> tuple[Material, Policy]:
        given = {
            name: value
            for name in ("window", "reserve", "profile")
            if (value := getattr(self, name)) is not None
        }
        material = replace(recording.material, **given)
        if self.variant:
            snippets = recording.found[self.variant]
            taken = any(material.nonce in each.text for each in snippets)
            nonce = nonce_for([each.text for each in snippets]) if taken else material.nonce
            material = replace(material, snippets=snippets, nonce=nonce)
        return material, recording.policy.with_changes(self.policy)


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """A call as it was made and as it would be; None where it would not fit."""

    recording: Recording
    before: Draft | None
    after: Draft | None

    @property
    def differences(self) -> dict[str, Any]:
        """Tokens by section, and what is in one of the two only."""
        one, other = _told(self.before), _told(self.after)
        return {
            "fits_before": self.before is not None,
            "fits_after": self.after is not None,
            "tokens": {
                name: {"before": one["tokens"][name], "after": other["tokens"][name]}
                for name in ("total", *SECTIONS)
            },
            **{
                f"{what}_{how}": sorted(some[what] - rest[what])
                for what in ("evidence", "tools", "messages")
                for how, some, rest in (("lost", one, other), ("gained", other, one))
            },
            "dropped": {"before": one["dropped"], "after": other["dropped"]},
            "actions": {"before": one["actions"], "after": other["actions"]},
        }


def _told(draft: Draft | None) -> dict[str, Any]:
    if draft is None:
        empty: set[Any] = set()
        tokens = dict.fromkeys(("total", *SECTIONS), 0)
        return {
            "tokens": tokens,
            "evidence": empty,
            "tools": empty,
            "messages": empty,
            "dropped": 0,
            "actions": [],
        }
    report, material = reported(draft), draft.material
    # A message that is there in part only is one that was lost.
    whole = {row.at for row in draft.rows if row.state == "whole"}
    items = len(material.messages) + len(material.snippets) + len(draft.all_tools)
    return {
        "tokens": report["estimated_tokens"],
        "evidence": {f"{each.source}:{each.ref}" for each in draft.snippets},
        "tools": {tool.name for tool in draft.tools},
        "messages": whole,
        "dropped": items - len(whole) - len(draft.snippets) - len(draft.tools),
        "actions": [each["action"] for each in report["decisions"]],
    }


AS_IT_WAS = Changes(policy={})


def varied(account_id: UUID, recording: Recording, *changes: Changes) -> Recording:
    """With what would be found today under the variants that the changes name.

    Opens `acting` itself. Raises Gone for a call that was recorded before calls said how they
    looked, and ProviderError when a source does not answer: half an answer would compare nothing.
    """
    names = dict.fromkeys(each.variant for each in changes if each.variant)
    if names and recording.wanted is None:
        raise Gone(
            "How this call looked for evidence was not kept: it cannot be varied.",
            code="inputs_expired",
        )
    return replace(recording, found={name: _found(account_id, recording, name) for name in names})


def _found(account_id: UUID, recording: Recording, variant: str) -> list[Snippet]:
    report, kept, material = recording.report, recording.wanted or {}, recording.material
    asked = tuple(name for name in kept["sources"] if name in VARIED)
    with acting(account_id):
        remote = ContextSettings.objects.here(account_id).remote()
    found = retrieve(
        Wanted(
            account_id=account_id,
            query=recording.query,
            sources=asked,
            user_id=report.user_id,
            agent_id=report.agent_id,
            app_id=report.app_id,
            run_id=report.conversation_id,
            scope=kept["scope"],
            limit=kept["limit"],
            min_score=recording.policy.min_score,
            deadline_ms=UNHURRIED,
            knowledge_sources=tuple(kept["knowledge_sources"]),
            variant=VARIANTS[variant],
            remote=remote,
            counted=False,
        )
    )
    if failed := [each for each in found.decisions if each["action"] in FAILURES]:
        raise ProviderError(f"A source did not answer: {failed[0]['action']}.")
    others = [each for each in material.snippets if each.source not in VARIED]
    return [*others, *found.snippets]


def again(recording: Recording, changes: Changes = AS_IT_WAS) -> Replay:
    """The call as it was, and as it would be with these changes."""
    return beside(recording, AS_IT_WAS, changes)


def beside(recording: Recording, left: Changes, right: Changes) -> Replay:
    """The call as it would be with either of these. Pure: nothing is asked or kept."""
    before = _fitted(*left.on(recording))
    after = before if right == left else _fitted(*right.on(recording))
    return Replay(recording=recording, before=before, after=after)


def _fitted(material: Material, policy: Policy) -> Draft | None:
    try:
        return fitted(material, policy)
    except DoesNotFit:
        return None
