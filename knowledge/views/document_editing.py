"""Pages to write and edit a document, with a preview, drafts and images."""

from collections.abc import Mapping
from functools import partial
from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _

from kmapp.accounts.acting import acting
from kmapp.errors import Conflict, DomainError, Invalid
from kmapp.web.after_commit import AfterCommit
from kmapp.web.http import WebRequest, parse_row_number
from kmapp.web.markdown import render_markdown
from kmapp.web.object_links import find_object_text
from kmapp.web.page_access import page_view
from kmapp.web.responses import redirect_with_notice
from kmapp.web.three_way_merge import Field, has_conflict_marks, merge_texts
from knowledge.actions.document_editing import (
    MAX_LENGTH,
    create_document,
    fits_editor,
    has_written,
    load_text,
    normalize_line_ends,
    save_document,
)
from knowledge.actions.drafts import delete_draft, find_draft, save_draft
from knowledge.actions.images import check_image, check_size, store_image
from knowledge.models import KnowledgeDocument, KnowledgeDraft, KnowledgeSource
from knowledge.views.document_forms import NewForm, TextForm
from knowledge.views.documents import get_document

TEMPLATE = "knowledge/documents/form.html"
INVALID = HTTPStatus.UNPROCESSABLE_ENTITY
OWN_SOURCES = ("upload", "file_set")  # kinds whose documents people write


@page_view("GET", "POST")
def write_document(request: WebRequest) -> HttpResponse | AfterCommit:
    """Write a new document."""
    if request.method != "POST":
        draft = find_draft(request.account_id, request.user, None)
        source, origin = request.GET.get("source", ""), request.GET.get("from", "")
        if draft and origin:
            notice = _("You have an unsaved draft. Save or discard it, then try again.")
            return redirect_with_notice(request, notice, "knowledge:write")
        initial: dict[str, Any] = {"version": 0} | ({"source": source} if source else {})
        more = {}
        if origin and (promoted := find_object_text(request.account_id, origin)):
            initial |= {"title": promoted.title, "text": promoted.text}
            more = {"warning": promoted.warning}
        form = NewForm.of_draft(draft) if draft else NewForm(initial=initial)
        return _render_form(request, form, draft=draft, more=more)
    form = NewForm(request.POST, request.FILES)
    if answer := _handle_draft(request, form, None):
        return answer
    if not form.is_valid():
        return _render_form(request, form, status=INVALID)
    return AfterCommit(partial(_create_document, request, form), outside_transaction=True)


def _create_document(request: WebRequest, form: NewForm) -> HttpResponse | AfterCommit:
    try:
        document = create_document(request.account_id, request.actor, form.new_document())
    except DomainError as error:
        form.add_error("title" if error.code == "path_taken" else None, error.message)
        return AfterCommit(partial(_render_form, request, form, status=INVALID))
    return _redirect_saved(request, None, document, _("Saved. Agents can find it now."))


@page_view("GET", "POST")
def edit_document(request: WebRequest, pk: UUID) -> HttpResponse | AfterCommit:
    """Edit the text of a document. Changes of others are merged."""
    document = get_document(request, pk)
    if not fits_editor(document):
        raise Conflict(
            _("Only Markdown and text can be edited here. Upload a new version of the file.")
        )
    if request.method != "POST":
        current = normalize_line_ends(load_text(document, document.version).text)
        draft = find_draft(request.account_id, request.user, pk)
        if draft and draft.text == current:
            draft = None
        initial = {"text": current, "version": document.version}
        form = TextForm.of_draft(draft) if draft else TextForm(initial=initial)
        return _render_form(request, form, document, draft=draft)
    form = TextForm(request.POST, request.FILES)
    if answer := _handle_draft(request, form, document):
        return answer
    if form.is_valid() and has_conflict_marks(
        form.cleaned_data["text"], load_text(document, document.version).text
    ):
        form.add_error("text", _("Decide between the marked lines, and remove the marks."))
    if not form.is_valid():
        return _render_form(request, form, document, status=INVALID)
    return AfterCommit(partial(_save_document, request, form, document), outside_transaction=True)


def _save_document(
    request: WebRequest, form: TextForm, document: KnowledgeDocument
) -> HttpResponse | AfterCommit:
    data = form.cleaned_data
    try:
        saved = save_document(
            *(request.account_id, request.actor, document.pk, data["text"]), version=data["version"]
        )
    except DomainError as error:
        if error.code == "stale_version":
            return AfterCommit(partial(_render_conflict, request, form, document.pk))
        form.add_error(None, error.message)
        return AfterCommit(partial(_render_form, request, form, document, status=INVALID))
    changed = saved.version != data["version"]
    notice = (
        _("Saved as version %(n)d.") % {"n": saved.version} if changed else _("Nothing changed.")
    )
    return _redirect_saved(request, document.pk, saved, notice)


def _redirect_saved(
    request: WebRequest, draft_of: UUID | None, document: KnowledgeDocument, notice: str
) -> HttpResponse:
    with acting(request.account_id):
        saved = load_text(document, document.version).text
        delete_draft(request.account_id, request.user, draft_of, saved=saved)
    return redirect_with_notice(request, notice, "knowledge:document", pk=document.pk)


def _handle_draft(
    request: WebRequest, form: TextForm, document: KnowledgeDocument | None
) -> HttpResponse | AfterCommit | None:
    """Answer the buttons that do not save: draft and preview, image, discard."""
    operation = request.POST.get("do", "")
    if operation not in ("draft", "image", "discard"):
        return None
    if operation == "discard":
        delete_draft(request.account_id, request.user, document.pk if document else None)
        return redirect_with_notice(request, _("Draft discarded."), _draft_url(document))
    form.is_valid()  # a draft may be incomplete
    if operation == "image":
        insert = partial(_insert_image, request, form, document)
        return AfterCommit(insert, outside_transaction=True)
    return _save_draft(request, form, document)


def _draft_url(document: KnowledgeDocument | None) -> str:
    return reverse("knowledge:edit", args=[document.pk]) if document else reverse("knowledge:write")


def _save_draft(
    request: WebRequest, form: TextForm, document: KnowledgeDocument | None
) -> HttpResponse:
    pk, values = document.pk if document else None, form.draft_values()
    is_late = request.htmx and isinstance(form, NewForm) and _is_saved(request, form)
    draft = None if is_late else save_draft(request.account_id, request.user, pk, values)
    if request.htmx:
        context = _render_preview(request, str(values["text"])) | {"draft": draft}
        return render(request, f"{TEMPLATE}#preview", context)
    return redirect(f"{_draft_url(document)}#preview")


def _is_saved(request: WebRequest, form: NewForm) -> bool:
    """Return whether the document of this page is saved, so that a late draft is not stored."""
    opened_at = form.cleaned_data.get("opened_at")
    return opened_at is not None and has_written(
        request.account_id, request.actor, form.new_document(), since=opened_at
    )


def _insert_image(
    request: WebRequest, form: TextForm, document: KnowledgeDocument | None
) -> HttpResponse | AfterCommit:
    """Check the chosen image between two transactions, and store it with the draft."""
    file = form.files.get("image")
    try:
        if file is None:
            raise Invalid(_("Choose an image file."))
        check_size(file.size or 0)
        name = "".join(each for each in (file.name or "") if each not in "[]()\x00\n\r")[:100]
        checked = check_image(file.read(), name)
        with acting(request.account_id):
            image = store_image(request.account_id, request.actor, checked)
            _insert_text(request, form, f"![{name}]({image.get_absolute_url()})")
            return _save_draft(request, form, document)
    except DomainError as error:
        form.add_error("image", error.message)
        return AfterCommit(partial(_render_form, request, form, document, status=INVALID))


def _insert_text(request: WebRequest, form: TextForm, markdown: str) -> None:
    """Insert a paragraph at the cursor into the text of the form."""
    text: str = form.cleaned_data.get("text", form.read_text())
    position = parse_row_number(request.POST.get("cursor", ""))
    at = len(text)
    if position is not None:  # a browser counts UTF-16 units
        at = len(text.encode("utf-16-le")[: 2 * position].decode("utf-16-le", "ignore"))
    before, after = text[:at].rstrip("\n"), text[at:].lstrip("\n")
    form.cleaned_data["text"] = "\n\n".join(part for part in (before, markdown, after) if part)


def _render_conflict(request: WebRequest, form: TextForm, pk: UUID) -> HttpResponse:
    """Render the merged text, with what both sides changed since the version that was opened."""
    document, mine = get_document(request, pk), form.cleaned_data["text"]
    versions = (form.cleaned_data["version"], document.version)
    base, theirs = (normalize_line_ends(load_text(document, each).text) for each in versions)
    names = {"their_name": _("current version"), "my_name": _("your text")}
    merged = merge_texts(base, theirs, mine, **names)
    values: dict[str, str | int] = {"text": merged.text, "base_version": document.version}
    save_draft(request.account_id, request.user, pk, values)
    form = TextForm(initial={"text": merged.text, "version": document.version})
    conflict = {"field": Field("text", base, theirs, mine), "merged": merged}
    return _render_form(
        request, form, document, status=HTTPStatus.CONFLICT, more={"conflict": conflict}
    )


def _render_form(
    request: WebRequest,
    form: TextForm,
    document: KnowledgeDocument | None = None,
    *,
    draft: KnowledgeDraft | None = None,
    status: int = HTTPStatus.OK,
    more: Mapping[str, Any] | None = None,
) -> HttpResponse:
    sources = KnowledgeSource.objects.of(request.account_id).filter(kind__in=OWN_SOURCES, scope="")
    context = {
        "form": form,
        "document": document,
        "draft": draft,
        "restored": draft,
        "known": [] if document else sources.order_by("name").values_list("name", flat=True)[:100],
        **_render_preview(request, str(form["text"].value() or "")),
        **(more or {}),
    }
    return render(request, TEMPLATE, context, status=status)


def _render_preview(request: WebRequest, text: str) -> dict[str, Any]:
    return {"preview": render_markdown(text[:MAX_LENGTH], account_id=request.account_id)}
