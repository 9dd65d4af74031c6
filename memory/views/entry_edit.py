"""The form to edit a memory. It displays conflicting changes of others."""

from collections.abc import Mapping
from dataclasses import replace
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from django import forms
from django.http import HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from kmapp.errors import Conflict, Invalid
from kmapp.providers.active_models import active_model
from kmapp.web.actor_names import list_actor_names
from kmapp.web.http import MAX_REASON_LENGTH, WebRequest
from kmapp.web.page_access import page_view
from kmapp.web.responses import render_part
from kmapp.web.success_messages import notify_success
from kmapp.web.three_way_merge import ChangedBy, diff_three_way
from memory.actions import review
from memory.models import MemoryEntry, MemoryVersion
from memory.retrieval.entry_list import COLUMNS, Listing
from memory.views.entry_sections import format_value
from memory.views.review_forms import ProposalForm, build_decision, undo_url

TEMPLATE = "memory/entries/form.html"
FIELDS = ("title", "content", "kind", "tags")


class EditForm(ProposalForm):
    version = forms.IntegerField(min_value=1, widget=forms.HiddenInput)
    reason = forms.CharField(
        label=gettext_lazy("Reason"),
        max_length=MAX_REASON_LENGTH,
        required=False,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
        help_text=gettext_lazy("Recorded in the ledger with the change."),
    )

    @classmethod
    def with_values(
        cls, values: Mapping[str, Any], *, version: int, reason: str = ""
    ) -> "EditForm":
        fields = {"tags": ", ".join(values["tags"]), "version": version, "reason": reason}
        return cls(initial={**values, **fields})


@page_view("GET", "POST")
def edit(request: WebRequest, pk: UUID) -> HttpResponse:
    row = _get_entry(request, pk)
    if request.method != "POST":
        form = EditForm.with_values(_form_values(vars(row)), version=row.version)
        return _render_form(request, row, form, HTTPStatus.OK)
    form = EditForm(request.POST, initial={"tags": ", ".join(row.tags)})
    if not form.is_valid():
        return _render_form(request, row, form, HTTPStatus.UNPROCESSABLE_ENTITY)
    seen_values = _load_seen_values(row, form.cleaned_data["version"])
    changed = form.changed(seen_values)
    if not changed:
        notify_success(request, _("Nothing changed."))
        return _redirect_to_entry(request, row)
    decision = build_decision(request, pk, form.cleaned_data["version"])
    try:
        edited = review.edit(replace(decision, reason=form.cleaned_data["reason"]), changed)
    except Conflict as refusal:
        row = _get_entry(request, pk)  # as the other person saved it
        if refusal.code == "stale_version":
            return _render_conflict(request, row, form, seen_values, changed)
        form.add_error(None, refusal.message)
        return _render_form(request, row, form, HTTPStatus.CONFLICT)
    notify_success(request, _("Changed."), undo=undo_url(edited))
    return _redirect_to_entry(request, edited)


def _render_conflict(
    request: WebRequest,
    row: MemoryEntry,
    form: EditForm,
    seen_values: Mapping[str, Any],
    changed: Mapping[str, Any],
) -> HttpResponse:
    """Render the conflict: the displayed, the current and the submitted values."""
    fields = diff_three_way(
        FIELDS, base=seen_values, theirs=_form_values(vars(row)), mine={**seen_values, **changed}
    )
    values = {field.name: field.value_to_edit for field in fields}
    merged = EditForm.with_values(values, version=row.version, reason=form.cleaned_data["reason"])
    versions = MemoryVersion.objects.of(row.account_id).filter(entry_id=row.pk)
    latest = versions.get(version=row.version)
    overtaken = {
        "fields": [
            {
                "changed_by": each.changed_by,
                "label": form.fields[each.name].label,
                **{
                    side: format_value(each.name, getattr(each, side))
                    for side in ("base", "theirs", "mine")
                },
            }
            for each in fields
            if each.changed_by != ChangedBy.NOBODY
        ],
        "latest": latest,
        "decided_by": list_actor_names([latest.actor])[latest.actor],
    }
    return _render_form(request, row, merged, HTTPStatus.CONFLICT, overtaken=overtaken)


def _render_form(
    request: WebRequest,
    row: MemoryEntry,
    form: EditForm,
    status: int,
    *,
    overtaken: Mapping[str, Any] | None = None,
) -> HttpResponse:
    context = {"entry": row, "form": form, "overtaken": overtaken, "in_row": "row" in request.GET}
    return render_part(request, TEMPLATE, "dialogue", context, status=status)


def _redirect_to_entry(request: WebRequest, row: MemoryEntry) -> HttpResponse:
    """Redirect to the page of the memory, or return its row of the list."""
    if not request.htmx:
        return redirect("memory:entry", pk=row.pk)
    if "row" not in request.GET:
        return HttpResponse(headers={"HX-Redirect": reverse("memory:entry", args=[row.pk])})
    params = QueryDict(urlsplit(request.htmx.current_url or "").query)
    listing = Listing.from_params(row.account_id, params)
    context = {
        "entry": _get_entry(request, row.pk),
        "columns": [(name, COLUMNS[name]) for name in listing.columns],
    }
    answer = render(request, "memory/entries/index.html#row", context)
    answer.headers["HX-Retarget"] = f"#entry-{row.pk}"
    answer.headers["HX-Reswap"] = "outerHTML"
    return answer


def _get_entry(request: WebRequest, pk: UUID) -> MemoryEntry:
    rows = MemoryEntry.objects.of(request.account_id)
    return get_object_or_404(rows.with_embedding_state(active_model().pk), pk=pk)


def _load_seen_values(row: MemoryEntry, version: int) -> dict[str, Any]:
    rows = MemoryVersion.objects.of(row.account_id).filter(entry_id=row.pk)
    version_row = rows.filter(version=version).first()
    if version_row is None:
        raise Invalid(_("The version number is missing. Reload the page and decide again."))
    return _form_values(version_row.state)


def _form_values(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the form. States omit empty fields."""
    return {name: state.get(name, [] if name == "tags" else "") for name in FIELDS}
