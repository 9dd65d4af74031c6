"""Versions of a document: their list, the difference of two, restoring one."""

from functools import partial
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _

from kmapp.web.actor_names import list_actor_names
from kmapp.web.after_commit import AfterCommit
from kmapp.web.http import WebRequest, paginate, parse_row_number, parse_version
from kmapp.web.page_access import page_view
from kmapp.web.responses import redirect_with_notice
from knowledge.actions.document_editing import is_editable, load_text, save_document
from knowledge.models import KnowledgeDocument, KnowledgeText
from knowledge.views.documents import get_document

MAX_VERSIONS = 20  # on one page
MAX_COMPARED_LENGTH = 200_000  # characters of each text


@page_view("GET")
def history(request: WebRequest, pk: UUID) -> HttpResponse:
    document = get_document(request, pk)
    rows = KnowledgeText.objects.of(request.account_id).filter(document=document)
    page = paginate(
        request, rows.defer("text").select_related("commit").order_by("-version"), MAX_VERSIONS
    )
    actors = list_actor_names([text.commit.actor for text in page.object_list])
    context = {
        "document": document,
        "page": page,
        "rows": [{"text": text, "by": actors[text.commit.actor]} for text in page.object_list],
        "compared": _compare_versions(request, document),
        "is_editable": is_editable(document),
    }
    return render(request, "knowledge/documents/history.html", context)


def _compare_versions(
    request: WebRequest, document: KnowledgeDocument
) -> dict[str, KnowledgeText] | None:
    """Return the two chosen versions, by default the latest and the one before it."""
    last = document.version
    chosen = [parse_row_number(request.GET.get(name, "")) for name in ("from", "to")]
    numbers = sorted(each for each in chosen if each) or [last - 1, last]
    rows = KnowledgeText.objects.of(document.account_id).filter(document=document)
    pair = list(rows.filter(version__in=numbers).order_by("version"))
    if len(pair) != 2 or max(len(each.text) for each in pair) > MAX_COMPARED_LENGTH:  # noqa: PLR2004 - a pair
        return None
    return {"old": pair[0], "new": pair[1]}


@page_view("POST")
def restore(request: WebRequest, pk: UUID) -> AfterCommit:
    """Save an earlier text as the next version."""
    document = get_document(request, pk)
    number = parse_row_number(request.POST.get("to", "")) or 0
    text = load_text(document, number).text
    version = parse_version(request.POST.get("version", ""))
    return AfterCommit(
        partial(_restore_text, request, pk, text, version, number), outside_transaction=True
    )


def _restore_text(
    request: WebRequest, pk: UUID, text: str, version: int, number: int
) -> HttpResponse:
    save_document(request.account_id, request.actor, pk, text, version=version)
    notice = _("Version %(n)d is restored.") % {"n": number}
    return redirect_with_notice(request, notice, "knowledge:document", pk=pk)
