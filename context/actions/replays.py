"""Recorded calls made again: of the same material, under the same policy or another."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from context.budget import DoesNotFit, Draft, fitted
from context.calls import Bound, Compacted, Material, Section, Snippet
from context.models import ContextBody, ContextCostReport, ContextInput
from context.policies import DEFAULT, Policy
from context.reporting import SECTIONS, reported
from kmapp.errors import Gone

SCALARS = ("profile", "provider", "language", "nonce")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """What a call was made of, and the policy that it was made by."""

    report: ContextCostReport
    material: Material
    policy: Policy


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

    def on(self, recording: Recording) -> tuple[Material, Policy]:
        given = {
            name: value
            for name in ("window", "reserve", "profile")
            if (value := getattr(self, name)) is not None
        }
        material = replace(recording.material, **given)
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
