"""Search of memories for links to them in documents, as [[memory:ID]]."""

from dataclasses import replace
from typing import Any

from django.http import HttpResponse
from django.urls import resolve

from kmapp.errors import Invalid
from kmapp.web.http import WebRequest
from kmapp.web.page_access import page_view
from kmapp.web.responses import render_part
from kmapp.web.site_search.query import TYPE, SiteQuery
from kmapp.web.site_search.registry import search_everything

MAX_LINKS = 10


@page_view("GET")
def memory_links(request: WebRequest) -> HttpResponse:
    """Find memories by their words. The editor inserts a link; the page shows it for copying."""
    words, matches, error = request.GET.get("q", "").strip(), list[dict[str, Any]](), ""
    try:
        if words:
            matches = _find_memories(request, words)
    except Invalid as refusal:  # a filter that does not exist
        error = refusal.message
    context = {"words": words, "matches": matches, "error": error, "is_part": request.htmx}
    return render_part(request, "knowledge/memory_links/index.html", "list", context)


def _find_memories(request: WebRequest, words: str) -> list[dict[str, Any]]:
    query = SiteQuery.parse(words)
    only_memories = replace(query, filters={**query.filters, TYPE: "memory"})
    groups = search_everything(request, only_memories, limit=MAX_LINKS)
    hits = [hit for group in groups for hit in group.matches.hits]
    return [{"hit": hit, "link": f"[[memory:{resolve(hit.url).kwargs['pk']}]]"} for hit in hits]
