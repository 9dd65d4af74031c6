"""Memories: the list, and one memory with its history and its proof."""

from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import Any
from uuid import UUID

from django import forms
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from kmapp.errors import Invalid
from kmapp.ledger.models import Commit
from kmapp.ledger.proof import Claim, proven
from kmapp.providers.active import active_model
from kmapp.web.http import WebRequest, account_id_for, actor_for, fragment, number, sentence
from kmapp.web.notices import tell
from kmapp.web.seats import reviewer_required
from kmapp.web.who import names_of
from memory.actions import review
from memory.actions.review import Decision
from memory.filters import SORTS, EntryFilter
from memory.found import by_words
from memory.models import EntryQuerySet, MemoryEdge, MemoryEntry, MemoryVersion
from memory.views.forms import REASON

PAGE = 50
VERSIONS = 50  # shown on one page; older ones are asked for
NEIGHBOURS = 50
FIRST_FILTERS = ("status", "kind")  # in sight; the others unfold


@require_safe
@reviewer_required
def entries(request: WebRequest) -> HttpResponse:
    """Words first where there are any, else the order that was asked for."""
    account_id = account_id_for(request)
    narrowed = EntryFilter(request.GET, queryset=MemoryEntry.objects.of(account_id))
    words = request.GET.get("q", "").strip()
    sort = request.GET.get("sort", "")
    rows: EntryQuerySet = narrowed.qs
    context = {
        "filter": narrowed,
        "page": _page(account_id, rows, words, sort, request.GET.get("page")),
        "words": words,
        "sorts": SORTS,
        "narrowed": bool(words or any(request.GET.get(name) for name in narrowed.filters)),
        "first_filters": FIRST_FILTERS,
        "more_given": any(
            request.GET.get(name) for name in narrowed.filters if name not in FIRST_FILTERS
        ),
        "first_command": _first_command(request),
    }
    return render(request, fragment(request, "memory/entries/index.html", "list"), context)


def _page(account_id: UUID, rows: EntryQuerySet, words: str, sort: str, number: Any) -> Any:
    """One page of ids, then those rows whole: what a row shows is read for the page only."""
    ids: Any = rows.order_by(_sort(sort), "pk").values_list("pk", flat=True)
    if words:
        ids = by_words(account_id, words, rows)
    page = Paginator(ids, PAGE).get_page(number)
    shown = MemoryEntry.objects.of(account_id).with_embedding_state(active_model().pk)
    whole = shown.in_bulk(list(page.object_list))
    page.object_list = [whole[pk] for pk in page.object_list if pk in whole]
    return page


def _first_command(request: WebRequest) -> str:
    """What an empty list teaches: how the first memory is written."""
    address = request.build_absolute_uri(reverse("memory:api_store"))
    return (
        f"curl -s {address} -H 'Authorization: Bearer YOUR_KEY' "
        "-H 'Content-Type: application/json' "
        """-d '{"text": "The tea room opens at nine.", "user_id": "ada"}'"""
    )


def _sort(wanted: str) -> str:
    return wanted if wanted in dict(SORTS) else "-created_at"


@require_safe
@reviewer_required
def entry(request: WebRequest, pk: UUID) -> HttpResponse:
    return _shown(request, pk)


class EditForm(forms.Form):
    """What a person corrects in place. `version` is the one they saw."""

    version = forms.IntegerField(widget=forms.HiddenInput)
    content = forms.CharField(
        label=gettext_lazy("Content"),
        max_length=50_000,
        strip=False,
        widget=forms.Textarea(attrs={"class": "form-control", "rows": 6}),
    )
    title = forms.CharField(
        label=gettext_lazy("Title"),
        max_length=500,
        required=False,
        widget=forms.TextInput(attrs={"class": "form-control"}),
    )
    kind = forms.ChoiceField(
        label=gettext_lazy("Kind"),
        choices=MemoryEntry.Kind.choices,
        widget=forms.Select(attrs={"class": "form-select"}),
    )
    reason = forms.CharField(
        label=gettext_lazy("Reason"),
        max_length=REASON,
        required=False,
        widget=forms.TextInput(attrs={"class": "form-control"}),
        help_text=gettext_lazy("The ledger keeps it beside the change."),
    )


@require_http_methods(["GET", "HEAD", "POST"])
@reviewer_required
def edit(request: WebRequest, pk: UUID) -> HttpResponse:
    row = _found(request, pk)
    seen = {name: getattr(row, name) for name in ("version", "content", "title", "kind")}
    form = EditForm(request.POST or None, initial=seen)
    if request.method != "POST" or not form.is_valid():
        status = HTTPStatus.UNPROCESSABLE_ENTITY if form.is_bound else HTTPStatus.OK
        return render(
            request, "memory/entries/form.html", {"entry": row, "form": form}, status=status
        )
    said = dict(form.cleaned_data)
    decision = _decision(request, pk, version=said.pop("version"), reason=said.pop("reason"))
    changed = review.edit(decision, said)
    tell(request, _("Changed."), undo=_undo(changed))
    return redirect("memory:entry", pk=pk)


@require_POST
@reviewer_required
def pin(request: WebRequest, pk: UUID) -> HttpResponse:
    return _decide(request, pk, review.pin, _("Pinned."))


@require_POST
@reviewer_required
def unpin(request: WebRequest, pk: UUID) -> HttpResponse:
    return _decide(request, pk, review.unpin, _("No longer pinned."))


@require_http_methods(["GET", "HEAD", "POST"])
@reviewer_required
def forget(request: WebRequest, pk: UUID) -> HttpResponse:
    """Asks once, and says what goes and what stays."""
    if request.method != "POST":
        return render(request, "memory/entries/forget.html", {"entry": _found(request, pk)})
    return _decide(request, pk, review.forget, _("Forgotten. Agents are not told it any more."))


@require_POST
@reviewer_required
def revert(request: WebRequest, pk: UUID) -> HttpResponse:
    wanted = number(request.POST.get("to", "")) or 0
    said = _("As it was in version %(n)d again.") % {"n": wanted}
    return _decide(request, pk, lambda decision: review.revert(decision, to=wanted), said)


def _decide(
    request: WebRequest, pk: UUID, deed: Callable[[Decision], MemoryEntry], said: str
) -> HttpResponse:
    version = number(request.POST.get("version", ""))
    if version is None:
        raise Invalid(_("The version you looked at is missing. Reload the page and decide again."))
    decision = _decision(
        request,
        pk,
        version=version,
        reason=sentence(request, "reason", REASON),
    )
    changed = deed(decision)
    tell(request, said, undo=_undo(changed))
    return redirect("memory:entry", pk=pk)


def _decision(request: WebRequest, pk: UUID, *, version: int | None, reason: str) -> Decision:
    return Decision(
        account_id=account_id_for(request),
        entry_id=pk,
        actor=actor_for(request),
        version=version,
        reason=reason,
    )


def _undo(changed: MemoryEntry) -> str:
    return f"{reverse('memory:undo', args=[changed.pk])}?version={changed.version}"


def _found(request: WebRequest, pk: UUID) -> MemoryEntry:
    rows = MemoryEntry.objects.of(account_id_for(request)).select_related("commit")
    return get_object_or_404(rows.with_embedding_state(active_model().pk), pk=pk)


def _shown(request: WebRequest, pk: UUID) -> HttpResponse:
    account_id, row = account_id_for(request), _found(request, pk)
    versions = MemoryVersion.objects.of(account_id).filter(entry_id=pk).order_by("-version")
    states = list(versions[: VERSIONS + 1])
    context = {
        "entry": row,
        "steps": _steps(account_id, pk, states),
        "older": max(0, len(states) - VERSIONS),
        "edges": _edges(account_id, pk),
        "names": names_of([row.created_by, *(state.actor for state in states)]),
    }
    return render(request, "memory/entries/detail.html", context)


def _steps(account_id: UUID, pk: UUID, states: Sequence[MemoryVersion]) -> list[dict[str, Any]]:
    """Versions newest first, each with the one before it, its commit, and whether it is proven."""
    commits = Commit.objects.of(account_id).in_bulk([state.commit_id for state in states])
    proofs = proven(
        account_id,
        MemoryEntry._meta.label_lower,
        pk,
        [Claim(commit_id=state.commit_id, state=state.state) for state in states],
    )
    before = [*states[1:], None]
    return [
        {
            "state": state,
            "before": earlier,
            "commit": commits.get(state.commit_id),
            "proven": proofs[state.commit_id],
        }
        for state, earlier in zip(states[:VERSIONS], before, strict=False)
    ]


def _edges(account_id: UUID, pk: UUID) -> list[dict[str, Any]]:
    """What it hangs together with, in both directions."""
    rows = MemoryEdge.objects.of(account_id).select_related("src", "dst")
    out = rows.filter(src_id=pk).order_by("type", "-weight")[:NEIGHBOURS]
    into = rows.filter(dst_id=pk).order_by("type", "-weight")[:NEIGHBOURS]
    return [
        *({"edge": edge, "other": edge.dst, "outward": True} for edge in out),
        *({"edge": edge, "other": edge.src, "outward": False} for edge in into),
    ]
