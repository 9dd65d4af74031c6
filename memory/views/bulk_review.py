"""Bulk decisions about proposals and listed memories: confirmation, progress, undo."""

from collections.abc import Iterable
from hashlib import sha256
from http import HTTPStatus
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from kmapp.accounts.permissions import Permission
from kmapp.errors import Invalid
from kmapp.web.actor_names import list_actor_names
from kmapp.web.after_commit import AfterCommit
from kmapp.web.badge_counts import load_counts
from kmapp.web.http import (
    MAX_REASON_LENGTH,
    WebRequest,
    get_row_or_404,
    parse_reason,
    parse_row_number,
)
from kmapp.web.page_access import page_view, require_permission
from kmapp.web.responses import redirect_page, render_part, render_polled
from kmapp.web.success_messages import notify_success
from memory.actions import bulk_review
from memory.actions.bulk_progress import get_progress
from memory.actions.bulk_review import PART_SIZE, EntryVersion
from memory.actions.review import FORGETTABLE
from memory.models import BulkRun, EntryQuerySet, Need
from memory.retrieval.entry_list import Listing
from memory.review.queue import list_proposals
from memory.views import review_queue

MAX_EXAMPLES = 20  # memories on the page to forget them
MAX_SELECTED = 50_000  # proposals in one run


@page_view("GET", "POST", needs=Permission.REVIEW)
def decide_many(request: WebRequest) -> HttpResponse | AfterCommit:
    """Approve or reject the selected proposals, or the whole group, after confirmation."""
    if request.method != "POST":
        return _render_confirmation(request)
    if request.POST.get("which") == "all":
        chosen = _select_group(request)
        if _compute_digest(chosen) != request.POST.get("expected"):
            return _render_confirmation(request, drifted=True)
    else:
        chosen = _parse_selection(request)
    if not chosen:
        raise Invalid(_("Select at least one proposal."))
    operation = request.POST.get("deed", "")
    if operation not in (BulkRun.Operation.APPROVE, BulkRun.Operation.REJECT):
        raise Invalid(_("Choose whether to approve or reject."))
    account_id, actor, reason = request.account_id, request.actor, parse_reason(request)
    started = bulk_review.start_run(account_id, actor, BulkRun.Operation(operation), chosen, reason)
    run = started.run
    if len(chosen) > PART_SIZE:
        return redirect_page(request, reverse("memory:bulk_run", args=[run.pk]))
    notify_result(request, run, review_queue.queue_query(request))
    return AfterCommit(lambda: review_queue.go_to_next(request))


def _render_confirmation(request: WebRequest, *, drifted: bool = False) -> HttpResponse:
    group, flagged = _select_group(request), _list_flagged(request)
    selected = review_queue.parse_selected(request)
    marked_flagged = flagged.filter(pk__in=_parse_marks(selected))
    context = {
        "marked": sorted(selected),
        "marked_flagged": marked_flagged.count(),
        "marked_suspicious": marked_flagged.exclude(flags=[]).count(),
        "all": len(group),
        "all_flagged": flagged.count(),
        "all_suspicious": flagged.exclude(flags=[]).count(),
        "expected": _compute_digest(group),
        "need": review_queue.parse_need(request),
        "drifted": drifted,
        "most": MAX_SELECTED,
        "which": request.POST.get("which", ""),
        "reason": parse_reason(request),
        "max_length": MAX_REASON_LENGTH,
        "at_page": review_queue.queue_query(request),
    }
    status = HTTPStatus.CONFLICT if drifted else HTTPStatus.OK
    answer = render_part(request, "memory/review/bulk.html", "dialogue", context, status)
    if drifted and request.htmx:
        answer.headers["HX-Retarget"], answer.headers["HX-Reswap"] = "#dialog", "innerHTML"
    return answer


def _list_flagged(request: WebRequest) -> EntryQuerySet:
    """Return the flagged proposals of the group."""
    need = review_queue.parse_need(request)
    rows = list_proposals(request.account_id, Need.FLAGGED)
    return rows if need in ("", Need.FLAGGED) else rows.none()


def _select_group(request: WebRequest) -> list[EntryVersion]:
    """Return the proposals of the group, and at most one more than a run may have."""
    rows = list_proposals(request.account_id, review_queue.parse_need(request))
    return list(rows.values_list("pk", "version")[: MAX_SELECTED + 1])


def _compute_digest(chosen: Iterable[EntryVersion]) -> str:
    """Return a digest that differs if a proposal or its version differs."""
    lines = sorted(f"{pk}:{version}" for pk, version in chosen)
    return sha256("\n".join(lines).encode()).hexdigest()


def _parse_selection(request: WebRequest) -> list[EntryVersion]:
    """Parse the selected rows, each in the form id:version."""
    return list(_parse_marks(request.POST.getlist("pick")).items())


def _parse_marks(marks: Iterable[str]) -> dict[UUID, int]:
    chosen = {}
    for each in marks:
        pk, _colon, version = each.partition(":")
        try:
            chosen[UUID(pk)] = parse_row_number(version) or 0
        except ValueError as error:
            raise Invalid(_("A selected item is not on this page. Reload the page.")) from error
    return chosen


@page_view("GET")
def run_progress(request: WebRequest, pk: UUID) -> HttpResponse:
    """Render the progress of a run, for polling."""
    row = get_row_or_404(request, BulkRun, pk)
    context = {
        "run": row,
        "progress": get_progress(row),
        "may_undo": _needed_to_undo(row) in request.permissions,
        "names": list_actor_names(filter(None, [row.actor, row.undone_by])),
        "waiting": load_counts(request)["memory:review"],
    }
    return render_polled(request, "memory/review/run.html", context, part="progress")


def _needed_to_undo(run: BulkRun) -> Permission:
    """Return the permission that the operation itself needs."""
    return Permission.EDIT if run.deed == BulkRun.Operation.FORGET else Permission.REVIEW


@page_view("POST", needs=Permission.REVIEW)
def undo_run(request: WebRequest, pk: UUID) -> HttpResponse | AfterCommit:
    require_permission(request, _needed_to_undo(get_row_or_404(request, BulkRun, pk)))
    row = bulk_review.undo_run(request.account_id, pk, request.actor)
    if row.asked > PART_SIZE:
        return redirect_page(request, reverse("memory:bulk_run", args=[pk]))
    restored = get_progress(row).restored
    if row.deed == BulkRun.Operation.FORGET:
        text = ngettext("%(n)d memory restored.", "%(n)d memories restored.", restored)
        query = Listing.from_params(request.account_id, request.GET).query
        url = reverse("memory:entries") + (query and f"?{query}")
    else:
        text = ngettext("%(n)d proposal pending again.", "%(n)d proposals pending again.", restored)
        url = review_queue.review_url(request, None)
    return redirect_page(request, url, notice=text % {"n": restored})


def notify_result(request: WebRequest, row: BulkRun, query: str) -> None:
    """Display the result of a run, with a link to undo it that returns to the list of `query`."""
    progress = get_progress(row)
    number, skipped = progress.done, progress.skipped
    if row.deed == BulkRun.Operation.APPROVE:
        text = ngettext("%(n)d approved.", "%(n)d approved.", number)
    elif row.deed == BulkRun.Operation.REJECT:
        text = ngettext("%(n)d rejected.", "%(n)d rejected.", number)
    else:
        text = ngettext("%(n)d forgotten.", "%(n)d forgotten.", number)
    text %= {"n": number}
    if skipped:
        skipped_text = ngettext(
            "%(n)d skipped: already decided, changed or locked by someone else, or an update of "
            "another selected proposal.",
            "%(n)d skipped: already decided, changed or locked by someone else, or updates of "
            "other selected proposals.",
            skipped,
        )
        text = f"{text} {skipped_text % {'n': skipped}}"
    undo = reverse("memory:bulk_undo", args=[row.pk]) + query
    notify_success(request, text, undo=undo if number else "")


@page_view("GET", "POST")
def forget_listed(request: WebRequest) -> HttpResponse:
    account_id, actor = request.account_id, request.actor
    listing = Listing.from_params(account_id, request.GET)
    rows = listing.selected_rows
    if request.method == "POST":
        ticket, reason = request.POST.get("ticket", ""), parse_reason(request)
        started = bulk_review.forget_entries(account_id, rows, actor, ticket=ticket, reason=reason)
        if started.events:
            return redirect("memory:bulk_run", pk=started.run.pk)
        notify_result(request, started.run, f"?{listing.query}")
        return redirect(f"{reverse('memory:entries')}?{listing.query}")
    preview = bulk_review.preview_forget(account_id, rows, actor)
    examples = rows.filter(status__in=FORGETTABLE).order_by("-created_at", "-pk")[:MAX_EXAMPLES]
    context = {
        "extent": preview,
        "entries": examples,
        "more": max(0, preview.memories - MAX_EXAMPLES),
        "listing": listing,
        "max_length": MAX_REASON_LENGTH,
    }
    return render(request, "memory/forgetting/index.html", context)
