"""Erasure in the browser: count, explain, confirm by typing. It cannot be undone."""

from http import HTTPStatus
from uuid import UUID

from django.http import HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from kmapp.ledger.models import Commit
from kmapp.web.actor_names import list_actor_names
from kmapp.web.http import MAX_REASON_LENGTH, WebRequest, parse_reason, uuid_or_404
from kmapp.web.page_access import page_view
from kmapp.web.responses import redirect_with_notice
from memory.actions import erasure
from memory.models import EntryQuerySet, ErasedEntry, MemoryEdge, MemoryEntry
from memory.retrieval.entry_list import Listing

EXAMPLES = 20  # of what would be erased
# Connections that say that the other memory may hold the same.
LABELS = (MemoryEdge.Type.SUPERSEDES, MemoryEdge.Type.DERIVED_FROM, MemoryEdge.Type.PART_OF)


@page_view("GET", "POST", admin=True)
def erase(request: WebRequest) -> HttpResponse:
    """Erase one memory (`id`) or the filtered list, after confirmation by typing."""
    account_id, actor = request.account_id, request.actor
    rows = _rows(account_id, request.GET)
    if request.method == "POST" and _is_typed(request):
        done = erasure.erase_entries(
            account_id,
            rows,
            actor,
            ticket=request.POST.get("ticket", ""),
            reason=parse_reason(request),
        )
        message = ngettext(
            "%(n)d memory erased. This commit is the proof.",
            "%(n)d memories erased. This commit is the proof.",
            done.memories,
        )
        return redirect_with_notice(
            request, message % {"n": done.memories}, "web:commit", pk=done.commit_id
        )
    extent = erasure.preview_erasure(account_id, rows, actor)
    context = {
        "extent": extent,
        "entries": rows.order_by("-created_at", "-pk")[:EXAMPLES],
        "more": max(0, extent.memories - EXAMPLES),
        "related": _related(account_id, rows),
        "word": _word(extent.memories),
        "mistyped": request.method == "POST",
        "typed": request.POST.get("typed", ""),
        "reason": parse_reason(request),
        "longest": MAX_REASON_LENGTH,
        "one": request.GET.get("id"),
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if request.method == "POST" else HTTPStatus.OK
    return render(request, "memory/erasure/index.html", context, status=status)


def _rows(account_id: UUID, params: QueryDict) -> EntryQuerySet:
    """Return the selected rows: one memory, or the filtered list."""
    if one := params.get("id"):
        return MemoryEntry.objects.of(account_id).filter(pk=uuid_or_404(str(one)))
    return Listing.of(account_id, params).chosen


def _word(number: int) -> str:
    """Return the word to type for confirmation: the operation and its size."""
    return _("erase %(n)d") % {"n": number}


def _is_typed(request: WebRequest) -> bool:
    typed = " ".join(request.POST.get("typed", "").split()).casefold()
    number = request.POST.get("count", "")
    return number.isdecimal() and len(number) <= len(str(erasure.MAX_ENTRIES)) and (
        typed == _word(int(number)).casefold()
    )  # fmt: skip


def _related(account_id: UUID, rows: EntryQuerySet) -> list[MemoryEntry]:
    """Return remaining memories that may contain the same text."""
    edges = MemoryEdge.objects.of(account_id).filter(type__in=LABELS)
    ids = rows.values("pk")
    others = MemoryEntry.objects.of(account_id).exclude(pk__in=ids)
    neighbour_ids = edges.filter(src__in=ids).values("dst_id").union(
        edges.filter(dst__in=ids).values("src_id")
    )  # fmt: skip
    return list(others.filter(pk__in=neighbour_ids).order_by("pk")[:EXAMPLES])


def erased(request: WebRequest, pk: UUID) -> HttpResponse:
    """Render the page of an erased memory with its proof."""
    account_id = request.account_id
    left = get_object_or_404(ErasedEntry.objects.of(account_id).select_related("commit"), pk=pk)
    commits = Commit.objects.of(account_id).filter(pk__in=[*left.commits, left.commit_id])
    context = {
        "left": left,
        "who": list_actor_names([left.commit.actor])[left.commit.actor],
        "commits": commits.order_by("seq"),
    }
    return render(request, "memory/erasure/erased.html", context, status=HTTPStatus.GONE)
