"""Merge of a proposal into a similar memory, field by field."""

from http import HTTPStatus
from uuid import UUID

from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _

from kmapp.accounts.permissions import Permission
from kmapp.errors import Conflict, Invalid
from kmapp.ledger.read_verification import WITHHELD
from kmapp.web.after_commit import AfterCommit
from kmapp.web.http import MAX_REASON_LENGTH, WebRequest, parse_reason, parse_version, uuid_or_404
from kmapp.web.page_access import page_view
from kmapp.web.responses import fragment
from kmapp.web.success_messages import notify_success
from memory.actions.review import find_replaced_by_merge, merge
from memory.actions.review_leases import check_not_leased_by_other, release_lease
from memory.models import MemoryEntry
from memory.review.evidence import CURRENT_STATUSES, load_evidence
from memory.review.merge import build_merged_values, has_same_audience, list_choices
from memory.review.replaced_memories import load_first
from memory.views import review_queue
from memory.views.review_forms import build_decision


@page_view("GET", "POST", needs=Permission.REVIEW)
def merge_proposal(request: WebRequest, pk: UUID) -> HttpResponse | AfterCommit:
    """Display the choices with a preview of the merged memory, or merge."""
    new = review_queue.get_entry_or_404(request, pk)
    existing = _find_existing(request, new)
    if new.status != MemoryEntry.Status.PROPOSED or existing.status not in CURRENT_STATUSES:
        raise Conflict(_("One of the two memories was already decided. Nothing was merged."))
    if existing.pk == new.pk:
        raise Invalid(_("A memory cannot be merged with itself."))
    if not has_same_audience(new, existing):
        message = _(
            "These memories have different visibility. Merging would show one of them to "
            "more people."
        )
        raise Invalid(message)
    if Permission.EDIT not in request.permissions and not _is_similar(new, existing):
        raise Conflict(_("There is no memory to merge it with."))
    if request.method == "POST":
        return _merge(request, new, existing)
    review_queue.open_proposal(request, new)
    return _render_page(request, new, existing)


def _find_existing(request: WebRequest, new: MemoryEntry) -> MemoryEntry:
    other_id = request.POST.get("with") or request.GET.get("with")
    if other_id:
        return review_queue.get_entry_or_404(request, uuid_or_404(other_id))
    twin = load_evidence(new).twin
    if twin is None:
        raise Conflict(_("There is no memory to merge it with."))
    return twin


def _is_similar(new: MemoryEntry, existing: MemoryEntry) -> bool:
    """Return whether the review page names this memory; any other needs the permission to edit."""
    return any(finding.other == existing for finding in load_evidence(new).others)


def _render_page(
    request: WebRequest, new: MemoryEntry, existing: MemoryEntry, status: int = HTTPStatus.OK
) -> HttpResponse:
    params = request.POST if request.method == "POST" else request.GET
    chosen = list_choices(existing, new, params.dict())
    values = build_merged_values(existing, new, chosen)
    replaced_ids = find_replaced_by_merge(request.account_id, new.pk, existing.pk)
    replaced = load_first(MemoryEntry.objects.of(request.account_id).filter(pk__in=replaced_ids))
    context = {
        "new": new,
        "known": existing,
        "choices": chosen,
        "result": [
            (each.label, MemoryEntry.label_value(each.name, values.get(each.name, each.existing)))
            for each in chosen
            if each.name != "content"
        ],
        "content": values.get("content", existing.content),
        "replaces": replaced.first,
        "more_replaced": replaced.more,
        "was_changed": status == HTTPStatus.CONFLICT,
        "reason": parse_reason(request),
        "max_length": MAX_REASON_LENGTH,
        "at_page": review_queue.queue_query(request),
        "back_url": review_queue.review_url(request, new),
    }
    template = "memory/review/merge.html"
    if request.GET.get("preview"):
        template = fragment(request, template, "preview")
    return render(request, template, context, status=status)


def _merge(
    request: WebRequest, new: MemoryEntry, existing: MemoryEntry
) -> HttpResponse | AfterCommit:
    values = build_merged_values(existing, new, list_choices(existing, new, request.POST.dict()))
    post = request.POST
    decision = build_decision(request, new.pk, parse_version(post.get("version", "")))
    into = build_decision(request, existing.pk, parse_version(post.get("known_version", "")))
    try:
        with transaction.atomic():
            for pk in (new.pk, existing.pk):
                check_not_leased_by_other(decision.account_id, pk, str(request.actor))
            merge(decision, into, values)
            for pk in (new.pk, existing.pk):
                release_lease(decision.account_id, pk)
    except Conflict as error:
        if error.code == WITHHELD:
            raise
        new = review_queue.get_entry_or_404(request, new.pk)
        existing = review_queue.get_entry_or_404(request, existing.pk)
        return _render_page(request, new, existing, HTTPStatus.CONFLICT)
    undo_url = f"{reverse('memory:undo', args=[new.pk])}?version={new.version + 1}"
    undo_url += review_queue.with_queue_query(request)
    notify_success(request, _("Merged. The ledger keeps both previous versions."), undo=undo_url)
    return AfterCommit(lambda: review_queue.go_to_next(request, new))
