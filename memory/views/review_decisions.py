"""Review decisions by keyboard, with undo."""

from collections.abc import Callable
from http import HTTPStatus
from uuid import UUID

from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _

from kmapp.accounts.permissions import Permission
from kmapp.errors import Conflict, Denied
from kmapp.ledger.read_verification import WITHHELD
from kmapp.web.after_commit import AfterCommit
from kmapp.web.badge_counts import count_badge
from kmapp.web.http import MAX_REASON_LENGTH, WebRequest, parse_version, uuid_or_404
from kmapp.web.page_access import page_view
from kmapp.web.responses import redirect_page, render_part
from kmapp.web.success_messages import notify_success
from memory.actions import review as verbs
from memory.actions import topic_editing
from memory.actions.review import Decision
from memory.actions.review_leases import LeasedByOther, check_not_leased_by_other, release_lease
from memory.models import EntryQuerySet, MemoryEntry, MemoryVersion, ReviewLease
from memory.views.review_forms import ProposalForm, build_decision, undo_url
from memory.views.review_queue import (
    OpenProposal,
    find_other_decision,
    get_entry_or_404,
    go_to_proposal,
    open_next,
    open_proposal,
    queue_query,
    render_workbench,
    review_url,
    with_queue_query,
)

PROPOSED = MemoryEntry.Status.PROPOSED


@count_badge("memory:review")
def proposals(request: WebRequest) -> EntryQuerySet:
    return MemoryEntry.objects.of(request.account_id).awaiting_review()


@page_view("GET")
def review(request: WebRequest) -> HttpResponse:
    """Render the queue with the next proposal, or the one in `at`."""
    next_id = request.GET.get("at")
    if not next_id:
        return render_workbench(request, open_next(request))
    entry = get_entry_or_404(request, uuid_or_404(next_id))
    if entry.status != PROPOSED:
        lost = find_other_decision(request, entry.pk, was_decided=False)
        return render_workbench(request, open_next(request, entry), lost=lost)
    form = ProposalForm.of(entry) if request.GET.get("edit") else None
    return render_workbench(request, open_proposal(request, entry), form=form)


@page_view("POST", needs=Permission.REVIEW)
def approve(request: WebRequest, pk: UUID) -> HttpResponse | AfterCommit:
    return _decide(request, pk, verbs.approve, _("Approved. Agents can now recall it."))


@page_view("GET", "POST", needs=Permission.REVIEW)
def reject(request: WebRequest, pk: UUID) -> HttpResponse | AfterCommit:
    """Ask for a reason, in a dialog or on a page, then reject."""
    if request.method == "POST":
        return _decide(request, pk, verbs.reject, _("Rejected. It remains on record."))
    entry = get_entry_or_404(request, pk)
    context = {
        "entry": entry,
        "max_length": MAX_REASON_LENGTH,
        "at_page": queue_query(request),
        "back_url": review_url(request, entry),
    }
    return render_part(request, "memory/review/reject.html", "dialogue", context)


@page_view("POST", needs=Permission.REVIEW)
def pin(request: WebRequest, pk: UUID) -> HttpResponse | AfterCommit:
    """Pin or unpin a proposal, without deciding on it."""
    _require_proposal(request, get_entry_or_404(request, pk))
    if request.POST.get("pinned") == "no":
        return _decide(request, pk, verbs.unpin, _("Unpinned."))
    message = _("Pinned. People and agents see the mark.")
    return _decide(request, pk, verbs.pin, message)


@page_view("POST", needs=Permission.REVIEW)
def edit(request: WebRequest, pk: UUID) -> HttpResponse | AfterCommit:
    """Correct a proposal; with `then=approve`, approve it too."""
    entry = get_entry_or_404(request, pk)
    _require_proposal(request, entry)
    form = ProposalForm.of(entry, request.POST)
    if not form.is_valid():
        status = HTTPStatus.UNPROCESSABLE_ENTITY
        return render_workbench(request, open_proposal(request, entry), form=form, status=status)
    values = form.changed(vars(entry))
    if request.POST.get("then") == "approve":
        corrected = _("Corrected and approved. Agents can now recall it.")
        message = corrected if values else _("Approved. Agents can now recall it.")
        return _decide(request, pk, lambda decision: verbs.approve(decision, values), message)
    if not values:
        notify_success(request, _("Nothing changed."))
        return AfterCommit(lambda: go_to_proposal(request, _open_this_or_next(request, entry)))
    message = _("Corrected. It still needs your decision.")
    return _decide(request, pk, lambda decision: verbs.edit(decision, values), message)


@page_view("POST", needs=Permission.REVIEW)
def undo(request: WebRequest, pk: UUID) -> HttpResponse | AfterCommit:
    """Undo the latest decision, if the URL still names the latest version."""
    version = parse_version(request.GET.get("version", ""))
    entry = get_entry_or_404(request, pk)
    _require_decision(request, entry)
    is_topic = entry.kind == MemoryEntry.Kind.TOPIC
    undo_latest = topic_editing.undo_decision if is_topic else verbs.undo
    try:
        undo_latest(build_decision(request, pk, version))
    except Conflict as error:
        if error.code == WITHHELD:
            raise
        text = _("Not undone: this memory has changed since then.")
        raise Conflict(text, code=error.code, details=error.details) from error
    notify_success(request, _("Undone. The previous version is restored."))
    return AfterCommit(lambda: _render_undone(request, get_entry_or_404(request, pk)))


def _require_proposal(request: WebRequest, entry: MemoryEntry) -> None:
    """Raise Denied if this is no proposal and the person can only review."""
    if entry.status != PROPOSED and Permission.EDIT not in request.permissions:
        raise Denied(_("This is no longer a proposal. Your role cannot change memories."))


def _require_decision(request: WebRequest, entry: MemoryEntry) -> None:
    """Raise Denied if this is no decision about a proposal and the person can only review."""
    versions = MemoryVersion.objects.of(entry.account_id).filter(entry_id=entry.pk)
    decided = versions.filter(version=entry.version, event__in=MemoryVersion.DECISIONS)
    before = versions.filter(version=entry.version - 1, state__status=PROPOSED)
    if not (decided.exists() and before.exists()):
        _require_proposal(request, entry)


def _render_undone(request: WebRequest, entry: MemoryEntry) -> HttpResponse:
    """Return to the queue if the memory is pending again, else reload the current page."""
    # Without the fragment, because a browser does not reload a page for another fragment.
    here = (request.htmx.current_url_abs_path or "").partition("#")[0]
    if request.htmx and here.startswith(reverse("memory:review")):
        return render_workbench(request, _open_this_or_next(request, entry), elsewhere=True)
    if request.htmx:
        return redirect_page(request, here or reverse("memory:review"))
    if entry.status != PROPOSED:
        return redirect("memory:entry", pk=entry.pk)
    return redirect(review_url(request, entry))


def _decide(
    request: WebRequest, pk: UUID, verb: Callable[[Decision], MemoryEntry], message: str
) -> HttpResponse | AfterCommit:
    """Apply a decision and open the next proposal, or display a conflicting decision."""
    version = parse_version(request.POST.get("version", ""))
    decision = build_decision(request, pk, version)
    try:
        with transaction.atomic():  # an error on the page must leave no partial changes
            check_not_leased_by_other(decision.account_id, pk, str(request.actor))
            entry = verb(decision)
            if entry.status != PROPOSED:
                release_lease(decision.account_id, pk)
    except Conflict as error:
        if error.code == WITHHELD:
            raise
        lease = error.lease if isinstance(error, LeasedByOther) else None
        return _render_conflict(request, decision, lease)
    undo = f"{undo_url(entry)}{with_queue_query(request)}" if entry.version != version else ""
    notify_success(request, message, undo=undo)
    return AfterCommit(lambda: go_to_proposal(request, _open_this_or_next(request, entry)))


def _open_this_or_next(request: WebRequest, entry: MemoryEntry) -> OpenProposal | None:
    if entry.status != PROPOSED:
        return open_next(request, entry)
    return open_proposal(request, get_entry_or_404(request, entry.pk))


def _render_conflict(
    request: WebRequest, decision: Decision, lease: ReviewLease | None
) -> HttpResponse:
    """Display the conflict with the changed proposal, or with the next one if it was decided."""
    typed = request.POST.get("content", "").replace("\r\n", "\n")
    versions = MemoryVersion.objects.of(decision.account_id).filter(entry_id=decision.entry_id)
    seen = versions.filter(version=decision.version or 0).first()
    reviewed_text = str(seen.state.get("content", "")) if seen else ""
    lost = find_other_decision(
        request,
        decision.entry_id,
        reviewed_text=reviewed_text,
        typed=typed,
        reason=decision.reason,
        lease=lease,
    )
    if lost.entry.status != PROPOSED or lease:
        opened = open_next(request, lost.entry)
        return render_workbench(request, opened, lost=lost, status=HTTPStatus.CONFLICT)
    form = ProposalForm.of(lost.entry, request.POST) if typed else None
    opened = open_proposal(request, lost.entry)
    return render_workbench(request, opened, form=form, lost=lost, status=HTTPStatus.CONFLICT)
