"""Search for passages of documents, on the page of all documents."""

import re
from collections.abc import Sequence
from functools import partial
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django import forms
from django.http import HttpResponse
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from kmapp.text.highlight import extract_passage, find_matches, split_at_matches
from kmapp.text.terms import extract_terms
from kmapp.web.after_commit import AfterCommit
from kmapp.web.filters import MAX_QUERY_LENGTH
from kmapp.web.forms import Styled
from kmapp.web.http import WebRequest, paginate
from kmapp.web.responses import render_part
from knowledge.models import KnowledgeSource
from knowledge.models.documents import MAX_TAG_LENGTH
from knowledge.retrieval.search import (
    KnowledgeSearch,
    KnowledgeSearchResult,
    KnowledgeSnippet,
    search,
)

TEMPLATE = "knowledge/sources/index.html"
MAX_PASSAGES = 50  # passages of a search
PAGE_SIZE = 10
MAX_PASSAGE_LENGTH = 360  # characters of a passage
MAX_SOURCES = 200  # to choose from
NO_VECTOR_CODES = frozenset({"km_timeout", "km_circuit_open", "km_provider_error", "km_bad_vector"})
_HEADING_MARK = re.compile(r"^#{1,6}[ \t]+", re.MULTILINE)
_BLANK = re.compile(r"\n\s*\n")
_KINDS = [each for each in KnowledgeSource.Kind.choices if each[0] != "lorebook"]


class PassageSearchForm(Styled):
    """The query and its filters. The URL holds their state."""

    q = forms.CharField(
        max_length=MAX_QUERY_LENGTH, widget=forms.TextInput(attrs={"type": "search"}), strip=True
    )
    source = forms.ChoiceField(label=_("Source"), required=False)
    folder = forms.CharField(
        label=_("Folder"),
        max_length=500,
        required=False,
        widget=forms.TextInput(attrs={"autocomplete": "off", "placeholder": "guides"}),
    )
    tag = forms.CharField(
        label=_("Tag"),
        max_length=MAX_TAG_LENGTH,
        required=False,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    kind = forms.ChoiceField(label=_("Kind"), choices=[("", _("any")), *_KINDS], required=False)
    trust = forms.ChoiceField(
        label=_("Trust"), choices=[("", _("any")), *KnowledgeSource.Trust.choices], required=False
    )

    def __init__(self, *args: Any, sources: Sequence[tuple[UUID, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        source = self.fields["source"]
        assert isinstance(source, forms.ChoiceField)  # noqa: S101 - for the type checker
        source.choices = [("", _("any")), *((str(pk), name) for pk, name in sources)]

    @property
    def is_narrowed(self) -> bool:
        return any(self.data.get(name) for name in ("source", "folder", "tag", "kind", "trust"))

    def source_filters(self) -> dict[str, str]:
        """Return the chosen filters that sources have, to narrow their list without a query."""
        names = {"source": "pk", "kind": "kind", "trust": "trust"}
        self.is_valid()
        return {names[name]: value for name in names if (value := self.cleaned_data.get(name))}

    def build_search(self) -> KnowledgeSearch:
        data = self.cleaned_data
        lists = {"sources": "source", "kinds": "kind", "trust": "trust"}
        chosen: dict[str, Any] = {
            name: (data[field],) for name, field in lists.items() if data[field]
        }
        return KnowledgeSearch(
            query=data["q"],
            limit=MAX_PASSAGES,
            folder=data["folder"].strip("/"),
            tag=data["tag"].lower(),
            **chosen,
        )


def list_source_names(account_id: UUID) -> list[tuple[UUID, str]]:
    rows = KnowledgeSource.objects.of(account_id).of_documents().by_name()
    return list(rows.values_list("pk", "name")[:MAX_SOURCES])


def search_passages(request: WebRequest, form: PassageSearchForm) -> HttpResponse | AfterCommit:
    """Search outside the account's transaction, because the embedder is called."""
    if not form.is_valid():
        context = {"form": form, "matches": []}
        status = HTTPStatus.UNPROCESSABLE_ENTITY  # htmx displays the errors
        return render_part(request, TEMPLATE, "list", context, status=status)
    return AfterCommit(partial(_render_matches, request, form), outside_transaction=True)


def _render_matches(request: WebRequest, form: PassageSearchForm) -> AfterCommit:
    query = form.build_search()
    result = search(request.account_id, query)
    page = paginate(request, result.snippets, PAGE_SIZE)
    query_terms = list(dict.fromkeys(extract_terms(query.query)))
    context = {
        "form": form,
        "page": page,
        "matches": [build_match(snippet, query_terms) for snippet in page.object_list],
        "by_words_only": is_by_words_only(result),
        "most": MAX_PASSAGES if len(result.snippets) == MAX_PASSAGES else 0,
    }
    return AfterCommit(lambda: render_part(request, TEMPLATE, "list", context))


def is_by_words_only(result: KnowledgeSearchResult) -> bool:
    """Return whether the query was not compared by meaning, because the embedder failed."""
    return not NO_VECTOR_CODES.isdisjoint(each["code"] for each in result.decisions)


def build_match(snippet: KnowledgeSnippet, query_terms: Sequence[str]) -> dict[str, Any]:
    """Return a passage for the page: its citation, and the URL of the document at this place."""
    first, last = snippet.chunks[0], snippet.chunks[-1]
    document, title = first.document, str(first.document)
    return {
        "document": document,
        "title": split_at_matches(title, find_matches(title, query_terms, ())),
        "headings": [heading for heading in first.headings if heading != title],
        "passage": extract_passage(
            extract_plain_lines(snippet.text, title), query_terms, (), length=MAX_PASSAGE_LENGTH
        ),
        "first": first,
        "line_end": last.line_end,
        "last_page": last.page if last.page != first.page else None,
        "url": build_passage_url(document.pk, [chunk.pk for chunk in snippet.chunks]),
    }


def extract_plain_lines(text: str, title: str) -> str:
    """Return a text without empty lines, marks of Markdown headings and its title."""
    return _BLANK.sub("\n", _HEADING_MARK.sub("", text)).strip().removeprefix(f"{title}\n")


def build_passage_url(document_id: UUID | str, chunk_ids: Sequence[UUID | str]) -> str:
    """Return the URL of a document that opens at the passage of these chunks."""
    query = urlencode([("chunk", str(pk)) for pk in chunk_ids])
    return f"{reverse('knowledge:document', args=[document_id])}?{query}#passage"
