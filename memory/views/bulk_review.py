"""Bulk review of proposals: confirm with the exact number, run, undo."""

from collections.abc import Sequence
from http import HTTPStatus
from uuid import UUID

from django.http import HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from kmapp.errors import Invalid
from kmapp.web.actor_names import list_actor_names
from kmapp.web.after_commit import AfterCommit
from kmapp.web.http import (
    MAX_REASON_LENGTH,
    WebRequest,
    get_row_or_404,
    parse_reason,
    parse_row_number,
)
from kmapp.web.notices import notify_success
from kmapp.web.page_access import page_view
from kmapp.web.responses import redirect_page, render_part, render_polled
from memory.actions import bulk_review
from memory.actions.bulk_review import PART_SIZE, EntryVersion
from memory.models import BulkRun
from memory.review.queue import queue
from memory.views.review_queue import address, at_page, moved_on, need, open_next, picked

MOST = 50_000  # of one run


@page_view("GET", "POST")
def many(request: WebRequest) -> HttpResponse | AfterCommit:
    """Approve or reject the selected proposals, or the whole group, after confirmation."""
    if request.method != "POST":
        return _render_confirmation(request)
    everything = request.POST.get("which") == "all"
    chosen = _all_of_them(request) if everything else _marked(request)
    if everything and len(chosen) != parse_row_number(request.POST.get("expected", "")):
        return _render_confirmation(request, drifted=True)
    if not chosen:
        raise Invalid(_("Select at least one proposal."))
    run = bulk_review.start_run(
        request.account_id, request.actor, _operation(request), chosen, parse_reason(request)
    ).run
    if len(chosen) > PART_SIZE:
        return redirect_page(request, reverse("memory:bulk_run", args=[run.pk]))
    notify_result(request, run)
    return AfterCommit(lambda: moved_on(request, open_next(request)))


def _render_confirmation(request: WebRequest, *, drifted: bool = False) -> HttpResponse:
    rows = queue(request.account_id, need(request))
    context = {
        "marked": sorted(picked(request)),
        "all": rows.count(),
        "need": need(request),
        "drifted": drifted,
        "most": MOST,
        "longest": MAX_REASON_LENGTH,
        "at_page": at_page(request),
    }
    status = HTTPStatus.CONFLICT if drifted else HTTPStatus.OK
    answer = render_part(request, "memory/review/bulk.html", "dialogue", context, status)
    if drifted and request.htmx:
        answer.headers["HX-Retarget"], answer.headers["HX-Reswap"] = "#dialog", "innerHTML"
    return answer


def _operation(request: WebRequest) -> BulkRun.Operation:
    value = request.POST.get("deed", "")
    if value not in (BulkRun.Operation.APPROVE, BulkRun.Operation.REJECT):
        raise Invalid(_("Choose whether to approve or reject."))
    return BulkRun.Operation(value)


def _marked(request: WebRequest) -> Sequence[EntryVersion]:
    """Parse the selected rows, each written as id:version."""
    chosen = {}
    for each in request.POST.getlist("pick"):
        pk, _colon, version = each.partition(":")
        seen = parse_row_number(version)
        try:
            chosen[UUID(pk)] = seen or 0
        except ValueError as error:
            raise Invalid(_("A selected item is not on this page. Reload the page.")) from error
    return list(chosen.items())


def _all_of_them(request: WebRequest) -> Sequence[EntryVersion]:
    rows = queue(request.account_id, need(request)).values_list("pk", "version")
    return list(rows[: MOST + 1])[:MOST]


@page_view("GET")
def run(request: WebRequest, pk: UUID) -> HttpResponse:
    """Render the progress of a run, for polling."""
    row = get_row_or_404(request, BulkRun, pk)
    context = {
        "run": row,
        "progress": bulk_review.get_progress(row),
        "names": list_actor_names([row.actor, *([row.undone_by] if row.undone_by else [])]),
    }
    return render_polled(request, "memory/review/run.html", context, part="progress")


@page_view("POST")
def undo_run(request: WebRequest, pk: UUID) -> HttpResponse | AfterCommit:
    """Undo all decisions of a run."""
    account_id = request.account_id
    get_row_or_404(request, BulkRun, pk)
    row = bulk_review.undo_run(account_id, pk, request.actor)
    if row.asked > PART_SIZE:
        return redirect_page(request, reverse("memory:bulk_run", args=[pk]))
    restored = bulk_review.get_progress(row).restored
    if row.deed == BulkRun.Operation.FORGET:
        text = ngettext("%(n)d memory restored.", "%(n)d memories restored.", restored)
        notify_success(request, text % {"n": restored})
        return redirect_page(request, reverse("memory:entries"))
    text = ngettext("%(n)d proposal pending again.", "%(n)d proposals pending again.", restored)
    notify_success(request, text % {"n": restored})
    return redirect_page(request, address(request, None))


def notify_result(request: WebRequest, row: BulkRun) -> None:
    """Display the result of a run, with a link to undo it."""
    done = bulk_review.get_progress(row)
    if row.deed == BulkRun.Operation.APPROVE:
        text = ngettext("%(n)d approved.", "%(n)d approved.", done.done)
    elif row.deed == BulkRun.Operation.REJECT:
        text = ngettext("%(n)d rejected.", "%(n)d rejected.", done.done)
    else:
        text = ngettext("%(n)d forgotten.", "%(n)d forgotten.", done.done)
    text %= {"n": done.done}
    if done.skipped:
        left = ngettext(
            "%(n)d skipped: already decided, changed or locked by someone else.",
            "%(n)d skipped: already decided, changed or locked by someone else.",
            done.skipped,
        )
        text = f"{text} {left % {'n': done.skipped}}"
    notify_success(
        request, text, undo=reverse("memory:bulk_undo", args=[row.pk]) if done.done else ""
    )
