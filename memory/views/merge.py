"""Merging a proposal into a memory that says much the same: side by side, chosen field by field."""

from http import HTTPStatus
from uuid import UUID

from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from kmapp.errors import Conflict, Invalid
from kmapp.web.after_commit import AfterCommit
from kmapp.web.http import (
    WebRequest,
    account_id_for,
    actor_for,
    fragment,
    parse_row_number,
    post_text,
    uuid_or_404,
)
from kmapp.web.notices import notify_success
from kmapp.web.page_access import reviewer_required
from memory.actions.leases import check_not_leased_by_other, release_lease
from memory.actions.review import Decision, merge
from memory.models import MemoryEntry
from memory.review.evidence import COUNTING, evidence
from memory.review.merge import choices, merged, same_audience
from memory.views.review_forms import REASON
from memory.views.review_queue import at_page, me, memory_of, moved_on, open_next, open_this


@require_http_methods(["GET", "HEAD", "POST"])
@reviewer_required
def merging(request: WebRequest, pk: UUID) -> HttpResponse | AfterCommit:
    """Asks which is taken from where, with a preview; then makes one of both."""
    new = memory_of(request, pk)
    known = _other(request, new)
    if new.status != MemoryEntry.Status.PROPOSED or known.status not in COUNTING:
        raise Conflict(_("One of both is decided already. Nothing was merged."))
    if known.pk == new.pk:
        raise Invalid(_("A memory cannot be merged with itself."))
    if not same_audience(new, known):
        raise Invalid(_("These are told to different people: merging would tell one to more."))
    if request.method == "POST":
        return _merge(request, new, known)
    open_this(request, new)
    return _page(request, new, known)


def _other(request: WebRequest, new: MemoryEntry) -> MemoryEntry:
    wanted = request.POST.get("with") or request.GET.get("with")
    if wanted:
        return memory_of(request, uuid_or_404(wanted))
    twin = evidence(new).twin
    if twin is None:
        raise Conflict(_("Nothing is known that it could be merged with."))
    return twin


def _page(
    request: WebRequest, new: MemoryEntry, known: MemoryEntry, status: int = HTTPStatus.OK
) -> HttpResponse:
    said = request.POST if request.method == "POST" else request.GET
    chosen = choices(known, new, said.dict())
    context = {
        "new": new,
        "known": known,
        "choices": chosen,
        "result": {**{each.name: each.known for each in chosen}, **merged(known, new, chosen)},
        "content": merged(known, new, chosen).get("content", known.content),
        "was_changed": status == HTTPStatus.CONFLICT,
        "longest": REASON,
        "at_page": at_page(request),
    }
    template = "memory/review/merge.html"
    if request.GET.get("preview"):
        template = fragment(request, template, "preview")
    return render(request, template, context, status=status)


def _merge(request: WebRequest, new: MemoryEntry, known: MemoryEntry) -> HttpResponse | AfterCommit:
    values = merged(known, new, choices(known, new, request.POST.dict()))
    decision = _decision(request, new.pk, request.POST.get("version", ""))
    into = _decision(request, known.pk, request.POST.get("known_version", ""))
    try:
        with transaction.atomic():
            check_not_leased_by_other(decision.account_id, new.pk, me(request))
            merge(decision, into, values)
            release_lease(decision.account_id, new.pk)
    except Conflict:
        return _page(
            request, memory_of(request, new.pk), memory_of(request, known.pk), HTTPStatus.CONFLICT
        )
    way_back = f"{reverse('memory:undo', args=[new.pk])}?version={new.version + 1}"
    notify_success(request, _("Merged. Both are kept in the ledger as they were."), undo=way_back)
    return AfterCommit(lambda: moved_on(request, open_next(request, new)))


def _decision(request: WebRequest, pk: UUID, said: str) -> Decision:
    version = parse_row_number(said)
    if version is None:
        raise Invalid(_("The version you looked at is missing. Reload the page and decide again."))
    return Decision(
        account_id=account_id_for(request),
        entry_id=pk,
        actor=actor_for(request),
        version=version,
        reason=post_text(request, "reason", REASON),
    )
