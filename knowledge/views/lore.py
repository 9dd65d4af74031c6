"""Pages of lorebooks: import, editing, test."""

from codecs import BOM_UTF8
from http import HTTPStatus
from typing import Any
from uuid import UUID

from django import forms
from django.db.models import Count
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from kmapp.api.strict_json import Limits, Refused, parse
from kmapp.errors import DomainError
from kmapp.web.http import WebRequest, paginate
from kmapp.web.json_errors import json_issue
from kmapp.web.page_access import page_view
from kmapp.web.responses import fragment, redirect_with_notice, render_part
from knowledge.actions.erasure import erase_source
from knowledge.actions.lore import add_entries, bring_lorebook, change_entry, erase_entry
from knowledge.actions.sources import NewSource
from knowledge.lore.evaluate import entries_of, fire, messages_of
from knowledge.lore.sillytavern import NoLorebook
from knowledge.lore.sillytavern import entries_of as imported
from knowledge.lore.triggers import Rules
from knowledge.models import KnowledgeSource, LorebookEntry
from knowledge.views.lore_forms import BenchForm, EntryForm, ImportForm

LARGEST = Limits(items=500_000)  # values: exports have a hundred and more for each entry
LONGEST_SAMPLE = 200_000  # characters of a conversation to try an entry on


@page_view("GET")
def lore(request: WebRequest) -> HttpResponse:
    books = KnowledgeSource.objects.of(request.account_id).lorebooks()
    rows = books.annotate(held=Count("entries")).order_by("name", "pk")
    page = paginate(request, rows)
    return render_part(request, "knowledge/lore/index.html", "list", {"page": page})


@page_view("GET", "POST")
def bring(request: WebRequest) -> HttpResponse:
    """Create a lorebook: empty, or from a file."""
    form = ImportForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid():
        try:
            return _brought(request, form.cleaned_data)
        except Refused as error:
            form.add_error("book", json_issue(error))
        except NoLorebook:
            form.add_error(
                "book",
                _(
                    "This file has no “entries”. Choose a SillyTavern world info or character card "
                    "file."
                ),
            )
        except DomainError as error:
            form.add_error("book", _explained(error))
    return _form(request, form, _("New lorebook"))


def _brought(request: WebRequest, data: dict[str, Any]) -> HttpResponse:
    file = data["book"]
    # Editors on Windows put a mark before the text.
    entries = imported(parse(file.read().removeprefix(BOM_UTF8), LARGEST)) if file else []
    new = NewSource(name=data["name"], kind="lorebook", trust=data["trust"])
    source = bring_lorebook(request.account_id, request.actor, new, entries)
    message = ngettext("%(n)d entry imported.", "%(n)d entries imported.", len(entries))
    return redirect_with_notice(
        request, message % {"n": len(entries)}, "knowledge:lorebook", pk=source.pk
    )


@page_view("GET")
def lorebook(request: WebRequest, pk: UUID) -> HttpResponse:
    book = _book(request, pk)
    rows = LorebookEntry.objects.of(request.account_id).filter(source=book)
    page = paginate(request, rows.order_by("order", "pk"))
    context = {"book": book, "page": page}
    return render_part(request, "knowledge/lore/detail.html", "list", context)


@page_view("GET", "POST")
def add(request: WebRequest, pk: UUID) -> HttpResponse:
    book = _book(request, pk)
    form = EntryForm(request.POST or None, initial={"version": 0})
    if "try" in request.POST:
        return _form(request, form, _("New entry"), book, tried=_tried(request, form))
    if request.method == "POST" and form.is_valid():
        try:
            add_entries(book, request.actor, [form.values()])
        except DomainError as error:
            form.add_error(None, _explained(error))
        else:
            return redirect_with_notice(request, _("Entry added."), "knowledge:lorebook", pk=pk)
    return _form(request, form, _("New entry"), book)


@page_view("GET", "POST")
def entry(request: WebRequest, pk: UUID) -> HttpResponse:
    account_id = request.account_id
    rows = LorebookEntry.objects.of(account_id).select_related("source")
    row = get_object_or_404(rows, pk=pk)
    form = EntryForm(request.POST or None, initial=EntryForm.seen(row))
    if "try" in request.POST:
        tried = _tried(request, form)
        return _form(request, form, str(row)[:60], row.source, entry=row, tried=tried)
    if request.method == "POST" and form.is_valid():
        try:
            version = form.cleaned_data["version"]
            change_entry(account_id, pk, request.actor, form.values(), version=version)
        except DomainError as error:
            form.add_error(None, _explained(error))
        else:
            return redirect_with_notice(
                request, _("Changed."), "knowledge:lorebook", pk=row.source_id
            )
    return _form(request, form, str(row)[:60], row.source, entry=row)


@page_view("POST")
def drop(request: WebRequest, pk: UUID) -> HttpResponse:
    rows = LorebookEntry.objects.of(request.account_id)
    row = get_object_or_404(rows, pk=pk)
    erase_entry(request.account_id, pk, request.actor)
    return redirect_with_notice(request, _("Erased."), "knowledge:lorebook", pk=row.source_id)


@page_view("GET", "POST")
def erase(request: WebRequest, pk: UUID) -> HttpResponse:
    book = _book(request, pk)
    if request.method != "POST":
        return render(request, "knowledge/lore/erase.html", {"book": book})
    erase_source(request.account_id, pk, request.actor)
    return redirect_with_notice(request, _("Erased."), "knowledge:lore")


@page_view("GET", "POST")
def bench(request: WebRequest) -> HttpResponse:
    """Test which entries fire on a pasted conversation. Nothing is stored."""
    form = BenchForm(request.POST or None)
    context: dict[str, Any] = {"form": form}
    if request.method == "POST" and form.is_valid():
        data = form.cleaned_data
        rows = entries_of(request.account_id, [data["book"]] if data["book"] else [])
        messages = messages_of(data["conversation"])
        rules = Rules(budget=data["budget"], scan_depth=data["scan_depth"], scope=data["scope"])
        by_id = {str(row.pk): row for row in rows}
        outcome = fire(rows, messages, rules)
        context |= {
            "outcome": outcome,
            "fired": [
                {"row": by_id[f.entry.id], "fired": f, "by": by_id.get(f.by)} for f in outcome.fired
            ],
            "silent": [{"row": by_id[s.entry.id], "silent": s} for s in outcome.silent],
        }
    return render(request, "knowledge/lore/bench.html", context)


def _book(request: WebRequest, pk: UUID) -> KnowledgeSource:
    rows = KnowledgeSource.objects.of(request.account_id).lorebooks()
    return get_object_or_404(rows, pk=pk)


def _explained(error: DomainError) -> str:
    places = [f"{issue['path']}: {issue['message']}" for issue in error.issues]
    return "; ".join(places[:5]) or error.message


def _tried(request: WebRequest, form: EntryForm) -> dict[str, Any]:
    """Test whether the entry of the form fires. Nothing is stored."""
    if not form.is_valid():
        return {"unclear": True}
    row = LorebookEntry(**form.values())
    messages = messages_of(request.POST.get("sample", "")[:LONGEST_SAMPLE])
    outcome = fire([row], messages, Rules(budget=LONGEST_SAMPLE, scope=row.scope))
    return {"fired": outcome.fired, "silent": outcome.silent}


def _form(
    request: WebRequest,
    form: forms.Form,
    title: str,
    book: KnowledgeSource | None = None,
    **more: Any,
) -> HttpResponse:
    status = HTTPStatus.OK
    template = "knowledge/lore/form.html"
    if "tried" in more:
        template = fragment(request, template, "tried")
    elif form.is_bound:
        status = HTTPStatus.UNPROCESSABLE_ENTITY
    context = {"form": form, "title": title, "book": book, "sample": request.POST.get("sample", "")}
    return render(request, template, context | more, status=status)
