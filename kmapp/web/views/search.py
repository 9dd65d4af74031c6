"""Search over everything: the results page, and the list of the palette."""

from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _

from kmapp.accounts.models import Membership
from kmapp.errors import Invalid
from kmapp.web.http import WebRequest
from kmapp.web.navigation import list_pages
from kmapp.web.page_access import page_view
from kmapp.web.responses import render_part
from kmapp.web.site_search.pages import find_members, find_pages
from kmapp.web.site_search.providers import (
    Provider,
    filter_values,
    register,
    search_everything,
    visible_providers,
)
from kmapp.web.site_search.query import TYPE, SiteQuery

PER_GROUP = 10
ONE_GROUP = 50  # results if a type is chosen
IN_PALETTE = 4

register(
    Provider(
        name="page",
        label=_("Pages and actions"),
        icon="route",
        position=10,
        find=find_pages,
    )
)
register(
    Provider(
        name="member",
        label=_("Members"),
        icon="users",
        position=90,
        find=find_members,
        admin=True,
        filters={"role": Membership.Role.values},
    )
)


@page_view("GET")
def search(request: WebRequest) -> HttpResponse:
    query = SiteQuery.parse(request.GET.get("q", ""))
    context = _results(request, query, ONE_GROUP if TYPE in query.filters else PER_GROUP)
    context["filters"] = filter_values(visible_providers(request)).items()
    return render_part(request, "web/search/index.html", "results", context)


@page_view("GET")
def palette(request: WebRequest) -> HttpResponse:
    """Return the options for a text, or before there is any: all pages."""
    query = SiteQuery.parse(request.GET.get("q", ""))
    context = _results(request, query, IN_PALETTE)
    if query.is_empty:
        context["pages"] = list_pages(request)
    return render(request, "web/search/palette.html", context)


def _results(request: WebRequest, query: SiteQuery, limit: int) -> dict[str, Any]:
    try:
        groups, error = search_everything(request, query, limit=limit), ""
    except Invalid as refused:
        groups, error = [], refused.message
    return {"query": query, "groups": groups, "error": error}
