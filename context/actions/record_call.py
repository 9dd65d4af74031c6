"""Writing down what a call was given: the account of it, and for a while what it was made of."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from typing import Any
from uuid import UUID

from django.db import connection
from django.utils import timezone

from context.actions.archives import keep
from context.actions.model_summaries import at_first
from context.actions.summaries import keep_summary
from context.archives.archive_references import marks_in
from context.assembly.budget import key_of
from context.assembly.build_requests import wanted_of
from context.assembly.messages import Message
from context.assembly.stages import Assembled, Recorded, Request
from context.models import ContextBody, ContextCitation, ContextCostReport, ContextInput
from context.reports.call_report import SECTIONS, called_tools, cost_of, tool_tokens
from context.reports.stored_inputs import body_of, written
from kmapp.accounts.acting import acting
from kmapp.pii import redact, redact_json

MOST_ACTIONS = 30


def record(request: Request, assembled: Assembled) -> Recorded:
    """Keep what left the call, then the account of the call. Opens `acting` itself."""
    report = dict(assembled.report)
    with acting(request.account_id):
        _keep_what_left(request, assembled)
        made = assembled.draft.compacted
        if made and made != assembled.collected.material.compacted:
            flush = keep_summary(request, assembled.collected, made)
            report["decisions"] = _before_summary(report["decisions"], flush)
        row = _row(request, assembled, report)
        row.save(force_insert=True)
        _keep_citations(assembled, row)
        _keep_inputs(request, assembled, row)
    return Recorded(report_id=row.pk, report=report)


def _before_summary(
    decisions: Sequence[Mapping[str, Any]], flush: Mapping[str, Any]
) -> list[Mapping[str, Any]]:
    """Memory is written before the summary, and is told before it."""
    at = next(n for n, each in enumerate(decisions) if each["action"] == "auto_compact")
    made = {**decisions[at], "extractive": at_first()}
    return [*decisions[:at], flush, made, *decisions[at + 1 :]]


def _keep_what_left(request: Request, assembled: Assembled) -> None:
    """Results that were pruned and whose pointer stands in the call must be there to be loaded."""
    draft, collected = assembled.draft, assembled.collected
    there = {row.at for row in draft.rows}
    keys = dict.fromkeys(key_of(slot) for slot in draft.pruned if slot.at in there)
    left = [collected.keepable[key] for key in keys if key in collected.keepable]
    if left:
        keep(collected.settings, request.actor, left)


def _row(request: Request, assembled: Assembled, report: Mapping[str, Any]) -> ContextCostReport:
    estimated, within = report["estimated_tokens"], request.within
    actions = dict.fromkeys(str(each["action"]) for each in report["decisions"])
    return ContextCostReport(
        account_id=request.account_id,
        conversation_id=within.conversation_id,
        thread_id=within.thread_id,
        user_id=within.user_id,
        agent_id=request.agent_id,
        app_id=request.app_id,
        model=request.model,
        variant=assembled.collected.variant.name,
        window=request.window,
        reserve=request.reserve,
        total=estimated["total"],
        **{name: estimated[name] for name in SECTIONS},
        prefix_sha256=report["prefix_sha256"],
        tool_tokens=tool_tokens(report["items"]),
        called_tools=called_tools(report["items"]),
        actions=list(actions)[:MOST_ACTIONS],
        report=report,
        created_by=str(request.actor),
        created_at=timezone.now(),
        cost=cost_of(
            assembled.collected.settings.prices.get(request.model), {"input": estimated["total"]}
        ),
    )


def _keep_citations(assembled: Assembled, row: ContextCostReport) -> None:
    """So that each thing in the call knows that it was used here."""
    draft = assembled.draft
    refs = [ref for each in draft.snippets for ref in each.made_of or [each.ref]]
    refs += [each["ref"] for each in draft.material.bound.citations]
    ContextCitation.objects.bulk_create(
        ContextCitation(
            account_id=row.account_id, report=row, ref=UUID(ref), created_at=row.created_at
        )
        for ref in dict.fromkeys(refs)
    )


def _keep_inputs(request: Request, assembled: Assembled, row: ContextCostReport) -> None:
    account_id, collected = request.account_id, assembled.collected
    material, kinds = collected.material, collected.settings.account.redact
    messages = dict(zip(collected.bodies, material.messages, strict=True))
    bodies: dict[UUID, Any] = {**messages}

    def kept(value: Any) -> str:
        key = body_of(account_id, value)
        bodies[key] = value
        return str(key)

    rest = {
        "tools": [kept(tool) for tool in material.tools],
        "sections": [
            {"name": each.name, "text": kept(each.text), "stable": each.stable}
            for each in material.sections
        ],
        "snippets": [{**asdict(each), "text": kept(each.text)} for each in material.snippets],
        "bound": asdict(material.bound),
        "groups": dict(material.groups),
        "required_tools": list(material.required_tools),
        "profile": material.profile,
        "provider": material.provider,
        "language": material.language,
        "nonce": material.nonce,
        "pointers": {key: str(pk) for key, pk in material.pointers.items()},
        "query": redact(collected.query, kinds)[0],
        "wanted": wanted_of(request, collected).kept(),
    }
    if summary := material.compacted:
        rest["compacted"] = {**asdict(summary), "text": redact(summary.text, kinds)[0]}
    keep_bodies(account_id, bodies, messages, kinds)
    ContextInput.objects.create(
        account_id=account_id,
        report=row,
        messages=list(collected.bodies),
        refs=[each.ref for each in material.snippets],
        rest=rest,
        created_at=row.created_at,
    )


_KNOWN = "SELECT id, used_on FROM context_contextbody WHERE account_id = %s AND id = ANY (%s)"


def keep_bodies(
    account_id: UUID,
    values: Mapping[UUID, Any],
    messages: Mapping[UUID, Message],
    kinds: Collection[str],
) -> None:
    """Keep what is not kept yet, without what the account wants blacked out. Inside `acting`.

    Only messages hold tool results: a tool may look like one and be none.

    A row that was last used on an earlier day is held while its day is moved on, so that the
    clean-up, which goes by that day, does not take it away meanwhile.
    """
    today = timezone.now().date()
    with connection.cursor() as cursor:  # an array: hundreds of placeholders take longer to write
        cursor.execute(_KNOWN, [account_id, list(values)])
        known = dict(cursor.fetchall())
    stale = [pk for pk, day in known.items() if day < today]
    if stale:
        held = ContextBody.objects.of(account_id).filter(pk__in=stale).select_for_update()
        there = set(held.order_by("pk").values_list("pk", flat=True))
        ContextBody.objects.of(account_id).filter(pk__in=there).update(used_on=today)
        known = {pk: day for pk, day in known.items() if day >= today or pk in there}
    fresh = sorted(values.keys() - known.keys())
    cleaned = {pk: redact_json(values[pk], kinds)[0] for pk in fresh}
    results = marks_in(account_id, messages, cleaned)
    ContextBody.objects.bulk_create(
        [
            ContextBody(
                id=pk,
                account_id=account_id,
                text=written(part),
                used_on=today,
                results=results.get(pk, []),
            )
            for pk, part in cleaned.items()
        ],
        ignore_conflicts=True,  # another call of the conversation was first
    )
