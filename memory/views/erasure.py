"""Pages to erase memories, after a confirmation by typing, and pages of erased memories."""

from functools import partial
from http import HTTPStatus
from uuid import UUID

from django.http import HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from kmapp.accounts.erasure_registry import prepare_erasure
from kmapp.accounts.permissions import Permission
from kmapp.ledger.models import Commit
from kmapp.web.actor_names import list_actor_names
from kmapp.web.after_commit import AfterCommit
from kmapp.web.http import (
    MAX_REASON_LENGTH,
    WebRequest,
    parse_reason,
    parse_row_number,
    uuid_or_404,
)
from kmapp.web.page_access import page_view
from kmapp.web.responses import redirect_with_notice
from memory.actions import erasure
from memory.models import EntryQuerySet, ErasedEntry, MemoryEdge, MemoryEntry
from memory.retrieval.entry_list import Listing

MAX_EXAMPLES = 20  # memories on the page
# Types of edges between memories that may contain the same text.
RELATED_TYPES = (MemoryEdge.Type.SUPERSEDES, MemoryEdge.Type.DERIVED_FROM, MemoryEdge.Type.PART_OF)


@page_view("GET", "POST", needs=Permission.ERASE)
def erase(request: WebRequest) -> HttpResponse | AfterCommit:
    """Erase one memory (`id`) or the filtered list, after confirmation by typing.

    With nothing but a `user_id`, everything about this user is erased, as over the API.
    """
    account_id, actor = request.account_id, request.actor
    rows, person = _select_rows(account_id, request.GET)
    if request.method == "POST" and _is_typed(request):
        return AfterCommit(partial(_erase_prepared, request), outside_transaction=True)
    preview = erasure.preview_erasure(account_id, rows, actor, person=person)
    number = preview.memories or preview.personal_records
    context = {
        "extent": preview,
        "entries": rows.order_by("-created_at", "-pk")[:MAX_EXAMPLES],
        "more": max(0, preview.memories - MAX_EXAMPLES),
        "related": _list_related(account_id, rows),
        "count": number,
        "word": _build_confirmation_word(number),
        "mistyped": request.method == "POST",
        "typed": request.POST.get("typed", ""),
        "reason": parse_reason(request),
        "max_length": MAX_REASON_LENGTH,
        "one": request.GET.get("id"),
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if request.method == "POST" else HTTPStatus.OK
    return render(request, "memory/erasure/index.html", context, status=status)


def _erase_prepared(request: WebRequest) -> AfterCommit:
    prepare_erasure(request.account_id)
    return AfterCommit(partial(_erase, request))


def _erase(request: WebRequest) -> HttpResponse:
    account_id, actor = request.account_id, request.actor
    rows, person = _select_rows(account_id, request.GET)
    ticket, reason = request.POST.get("ticket", ""), parse_reason(request)
    result = erasure.erase_entries(
        account_id, rows, actor, ticket=ticket, reason=reason, person=person
    )
    message = ngettext(
        "%(n)d memory erased. This commit is the proof.",
        "%(n)d memories erased. This commit is the proof.",
        result.memories,
    )
    message %= {"n": result.memories}
    if not result.memories:
        message = _("Everything about this user is erased. This commit is the proof.")
    return redirect_with_notice(request, message, "web:commit", pk=result.commit_id)


def _select_rows(account_id: UUID, params: QueryDict) -> tuple[EntryQuerySet, str]:
    """Return the selected memories, and the user's id if they are all memories of one user."""
    if one := params.get("id"):
        return MemoryEntry.objects.of(account_id).filter(pk=uuid_or_404(str(one))), ""
    listing = Listing.from_params(account_id, params)
    rows, is_person = listing.selected_rows, listing.active_filters == ["user_id"]
    return rows, listing.filter.form.cleaned_data["user_id"] if is_person else ""


def _build_confirmation_word(number: int) -> str:
    return _("erase %(n)d") % {"n": number}


def _is_typed(request: WebRequest) -> bool:
    typed = " ".join(request.POST.get("typed", "").split()).casefold()
    number = parse_row_number(request.POST.get("count", ""))
    return number is not None and typed == _build_confirmation_word(number).casefold()


def _list_related(account_id: UUID, rows: EntryQuerySet) -> list[MemoryEntry]:
    """Return remaining memories that may contain the same text."""
    edges = MemoryEdge.objects.of(account_id).filter(type__in=RELATED_TYPES)
    ids = rows.values("pk")
    others = MemoryEntry.objects.of(account_id).exclude(pk__in=ids)
    ends = edges.filter(src__in=ids).values("dst_id")
    ends = ends.union(edges.filter(dst__in=ids).values("src_id"))
    return list(others.filter(pk__in=ends).order_by("pk")[:MAX_EXAMPLES])


def render_erased(request: WebRequest, pk: UUID) -> HttpResponse:
    """Render the page of an erased memory with its proof."""
    account_id = request.account_id
    rows = ErasedEntry.objects.of(account_id).select_related("commit")
    tombstone = get_object_or_404(rows, pk=pk)
    commit_ids = [*tombstone.commits, tombstone.commit_id]
    commits = Commit.objects.of(account_id).filter(pk__in=commit_ids)
    context = {
        "left": tombstone,
        "who": list_actor_names([tombstone.commit.actor])[tombstone.commit.actor],
        "commits": commits.order_by("seq"),
    }
    return render(request, "memory/erasure/erased.html", context, status=HTTPStatus.GONE)
