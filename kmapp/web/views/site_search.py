"""Search over everything: the results page, and the list of the palette."""

from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from kmapp.accounts.models import Membership
from kmapp.accounts.permissions import Permission
from kmapp.errors import Invalid
from kmapp.web.http import WebRequest
from kmapp.web.models import StoredSearch
from kmapp.web.navigation import list_pages
from kmapp.web.page_access import page_view
from kmapp.web.responses import redirect_with_notice, render_part
from kmapp.web.site_search.pages import find_members, find_pages
from kmapp.web.site_search.query import TYPE, SiteQuery
from kmapp.web.site_search.registry import (
    SearchProvider,
    list_filter_values,
    register,
    search_everything,
    visible_providers,
)
from kmapp.web.site_search.stored_searches import list_stored, record_search, set_saved

MAX_PER_GROUP = 10
MAX_IN_ONE_GROUP = 50  # results if a type is chosen
MAX_IN_PALETTE = 4

register(
    SearchProvider(
        name="page", label=_("Pages and actions"), icon="route", position=10, find=find_pages
    )
)
register(
    SearchProvider(
        name="member",
        label=_("Members"),
        icon="users",
        position=90,
        find=find_members,
        needs=Permission.MEMBERS,
        filters={"role": Membership.Role.values},
    )
)


@page_view("GET")
def search(request: WebRequest) -> HttpResponse:
    query = SiteQuery.parse(request.GET.get("q", ""))
    context = _search(request, query, MAX_IN_ONE_GROUP if TYPE in query.filters else MAX_PER_GROUP)
    if context["groups"]:
        record_search(request.account_id, request.user, query.text)
    stored = list_stored(request.account_id, request.user)
    context["stored"] = stored
    context["is_saved"] = any(each.saved and each.text == query.text for each in stored)
    context["filters"] = list_filter_values(visible_providers(request)).items()
    return render_part(request, "web/search/index.html", "results", context)


@page_view("GET")
def palette(request: WebRequest) -> HttpResponse:
    """Return the matches of a text; without a text, the stored searches and all pages."""
    query = SiteQuery.parse(request.GET.get("q", ""))
    context = _search(request, query, MAX_IN_PALETTE)
    if query.is_empty:
        context["stored"] = list_stored(request.account_id, request.user)
        context["pages"] = list_pages(request)
    return render(request, "web/search/palette.html", context)


def _search(request: WebRequest, query: SiteQuery, limit: int) -> dict[str, Any]:
    try:
        groups, error = search_everything(request, query, limit=limit), ""
    except Invalid as refused:
        groups, error = [], refused.message
    return {"query": query, "groups": groups, "error": error}


@page_view("POST", needs=Permission.READ)
def remember(request: WebRequest) -> HttpResponse:
    """Record a search whose result was opened from the palette."""
    text = SiteQuery.parse(request.POST.get("q", "")).text
    if text:
        record_search(request.account_id, request.user, text)
    return HttpResponse(status=204)


@page_view("POST", needs=Permission.READ)
def save(request: WebRequest) -> HttpResponse:
    """Save a search, or remove it from the saved ones."""
    text = SiteQuery.parse(request.POST.get("q", "")).text
    if not text:
        raise Invalid(gettext("Enter a search to save it."))
    saved = request.POST.get("saved") == "yes"
    set_saved(request.account_id, request.user, text, saved=saved)
    notice = gettext("Search saved.") if saved else gettext("Removed from your saved searches.")
    return redirect_with_notice(request, notice, StoredSearch(text=text).url)
