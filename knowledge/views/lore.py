"""Pages of lorebooks: import, editing, test."""

import hashlib
from codecs import BOM_UTF8
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any
from uuid import UUID

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.db.models import Count
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from kmapp.accounts.acting import acting
from kmapp.accounts.permissions import Permission
from kmapp.api.strict_json import Limits, RefusedJSON, parse
from kmapp.errors import DomainError
from kmapp.security.virus_scan import refuse_infected
from kmapp.web.after_commit import AfterCommit
from kmapp.web.http import WebRequest, get_row_or_404, paginate
from kmapp.web.invalid_json_messages import json_issue
from kmapp.web.page_access import page_view
from kmapp.web.responses import redirect_with_notice, render_form, render_part
from knowledge.actions.erasure import erase_source
from knowledge.actions.lore import add_entries, change_entry, create_lorebook, erase_entry
from knowledge.actions.sources import NewSource
from knowledge.lore.account_lorebooks import evaluate_entries, load_entries, split_messages
from knowledge.lore.lorebook_evaluation import TriggerSettings
from knowledge.lore.sillytavern import NoLorebook
from knowledge.lore.sillytavern import parse_entries as import_entries
from knowledge.models import KnowledgeSource, LorebookEntry
from knowledge.views.lore_forms import EntryForm, ImportForm, LoreTestForm

IMPORT_LIMITS = Limits(items=500_000)  # values: exports have a hundred or more for each entry
MAX_SAMPLE_LENGTH = 200_000  # characters of a conversation to try an entry on


@page_view("GET")
def lore(request: WebRequest) -> HttpResponse:
    books = KnowledgeSource.objects.of(request.account_id).lorebooks()
    page = paginate(request, books.annotate(held=Count("entries")).by_name())
    return render_part(request, "knowledge/lore/index.html", "list", {"page": page})


@page_view("GET", "POST")
def new_lorebook(request: WebRequest) -> HttpResponse | AfterCommit:
    form = ImportForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid():
        return AfterCommit(partial(_create_lorebook, request, form), outside_transaction=True)
    return _render_form(request, form, _("New lorebook"))


def _create_lorebook(request: WebRequest, form: ImportForm) -> HttpResponse | AfterCommit:
    """Scan and parse the file between transactions, and store its entries."""
    data = form.cleaned_data
    try:
        entries = _read_entries(data["book"]) if data["book"] else []
        with acting(request.account_id):
            return _import_lorebook(request, data, entries)
    except RefusedJSON as error:
        form.add_error("book", json_issue(error))
    except NoLorebook:
        text = _(
            "This file has no “entries”. Choose a SillyTavern world info or character card file."
        )
        form.add_error("book", text)
    except DomainError as error:
        field = "name" if error.code == "name_taken" else "book"
        form.add_error(field, _format_error(error))
    return AfterCommit(partial(_render_form, request, form, _("New lorebook")))


def _read_entries(file: "UploadedFile[Any]") -> Sequence[Mapping[str, Any]]:
    data, name = file.read(), file.name or "book"
    refuse_infected([data], name=name, sha256=hashlib.sha256(data).hexdigest(), path="book")
    # Editors on Windows put a byte order mark before the text.
    return import_entries(parse(data.removeprefix(BOM_UTF8), IMPORT_LIMITS))


def _import_lorebook(
    request: WebRequest, data: dict[str, Any], entries: Sequence[Mapping[str, Any]]
) -> HttpResponse:
    new = NewSource(name=data["name"], kind="lorebook", trust=data["trust"])
    source = create_lorebook(request.account_id, request.actor, new, entries)
    message = ngettext("%(n)d entry imported.", "%(n)d entries imported.", len(entries))
    return redirect_with_notice(
        request, message % {"n": len(entries)}, "knowledge:lorebook", pk=source.pk
    )


@page_view("GET")
def lorebook(request: WebRequest, pk: UUID) -> HttpResponse:
    book = _get_lorebook(request, pk)
    rows = LorebookEntry.objects.of(request.account_id).filter(source=book)
    page = paginate(request, rows.order_by("order", "pk"))
    context = {"book": book, "page": page}
    return render_part(request, "knowledge/lore/detail.html", "list", context)


@page_view("GET", "POST")
def new_entry(request: WebRequest, pk: UUID) -> HttpResponse:
    return _handle_entry_form(request, _get_lorebook(request, pk))


@page_view("GET", "POST", get=Permission.READ)
def entry(request: WebRequest, pk: UUID) -> HttpResponse:
    rows = LorebookEntry.objects.of(request.account_id).select_related("source")
    row = get_object_or_404(rows, pk=pk)
    return _handle_entry_form(request, row.source, row)


def _handle_entry_form(
    request: WebRequest, book: KnowledgeSource, row: LorebookEntry | None = None
) -> HttpResponse:
    initial = EntryForm.values_of(row) if row else {"version": 0}
    form = EntryForm(request.POST or None, initial=initial)
    if request.method == "POST" and "try" not in request.POST and form.is_valid():
        account_id, actor, version = request.account_id, request.actor, form.cleaned_data["version"]
        try:
            if row:
                change_entry(account_id, row.pk, actor, form.values(), version=version)
            else:
                add_entries(book, actor, [form.values()])
        except DomainError as error:
            if row and error.code == "stale_version":
                current = get_row_or_404(request, LorebookEntry, row.pk)
                form.add_conflict("version", current.version)
            else:
                form.add_error(None, _format_error(error))
        else:
            notice = _("Changed.") if row else _("Entry added.")
            return redirect_with_notice(request, notice, "knowledge:lorebook", pk=book.pk)
    return _render_form(request, form, str(row)[:60] if row else _("New entry"), book, row)


@page_view("GET", "POST")
def delete_entry(request: WebRequest, pk: UUID) -> HttpResponse:
    row = get_row_or_404(request, LorebookEntry, pk)
    if request.method != "POST":
        context = {"book": row.source, "entry": row}
        return render(request, "knowledge/lore/erase.html", context)
    erase_entry(request.account_id, pk, request.actor)
    return redirect_with_notice(request, _("Erased."), "knowledge:lorebook", pk=row.source_id)


@page_view("GET", "POST")
def erase_lorebook(request: WebRequest, pk: UUID) -> HttpResponse:
    book = _get_lorebook(request, pk)
    if request.method != "POST":
        return render(request, "knowledge/lore/erase.html", {"book": book})
    erase_source(request.account_id, pk, request.actor)
    return redirect_with_notice(request, _("Erased."), "knowledge:lore")


@page_view("GET", "POST", needs=Permission.READ)
def lore_test(request: WebRequest) -> HttpResponse:
    """Test which entries fire on a pasted conversation. Nothing is stored."""
    form = LoreTestForm(request.POST or None)
    context: dict[str, Any] = {"form": form}
    if request.method == "POST" and form.is_valid():
        data = form.cleaned_data
        rows = load_entries(request.account_id, [data["book"]] if data["book"] else [])
        messages = split_messages(data["conversation"])
        trigger_settings = TriggerSettings(
            budget=data["budget"], scan_depth=data["scan_depth"], scope=data["scope"]
        )
        by_id = {str(row.pk): row for row in rows}
        outcome = evaluate_entries(rows, messages, trigger_settings)
        context |= {
            "outcome": outcome,
            "triggered": [
                {"row": by_id[f.entry.id], "triggered": f, "by": by_id.get(f.by)}
                for f in outcome.triggered
            ],
            "suppressed": [{"row": by_id[s.entry.id], "suppressed": s} for s in outcome.suppressed],
        }
    return render(request, "knowledge/lore/bench.html", context)


def _get_lorebook(request: WebRequest, pk: UUID) -> KnowledgeSource:
    rows = KnowledgeSource.objects.of(request.account_id).lorebooks()
    return get_object_or_404(rows, pk=pk)


def _format_error(error: DomainError) -> str:
    if error.code == "infected":  # its issue does not name the file
        return error.message
    issues = [f"{issue['path']}: {issue['message']}" for issue in error.issues]
    return "; ".join(issues[:5]) or error.message


def _test_entry(request: WebRequest, form: EntryForm) -> dict[str, Any]:
    """Test whether the entry of the form fires. Nothing is stored."""
    if not form.is_valid():
        return {"unclear": True}
    row = LorebookEntry(**form.values())
    messages = split_messages(request.POST.get("sample", "")[:MAX_SAMPLE_LENGTH])
    outcome = evaluate_entries(
        [row], messages, TriggerSettings(budget=MAX_SAMPLE_LENGTH, scope=row.scope)
    )
    return {"triggered": outcome.triggered, "suppressed": outcome.suppressed}


def _render_form(
    request: WebRequest,
    form: forms.Form,
    title: str,
    book: KnowledgeSource | None = None,
    entry: LorebookEntry | None = None,
) -> HttpResponse:
    context: dict[str, Any] = {"form": form, "title": title, "book": book, "entry": entry}
    context["sample"] = request.POST.get("sample", "")
    template = "knowledge/lore/form.html"
    if "try" in request.POST and isinstance(form, EntryForm):
        context["test_result"] = _test_entry(request, form)
        return render_part(request, template, "test_result", context)
    return render_form(request, template, context, invalid=form.is_bound)
