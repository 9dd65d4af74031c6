"""Saved views of the list, private or shared."""

from uuid import UUID

from django.db.models import Q
from django.http import HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.translation import gettext as _

from kmapp.accounts.models import AccountQuerySet
from kmapp.accounts.permissions import Permission
from kmapp.errors import Denied, Invalid
from kmapp.web.http import WebRequest, post_text
from kmapp.web.page_access import page_view
from kmapp.web.responses import redirect_with_notice
from memory.models import SavedView
from memory.models.saved_views import MAX_QUERY_LENGTH
from memory.retrieval.entry_list import Listing

MAX_NAME_LENGTH = 80
MAX_VIEWS = 50  # of one person


def visible_views(request: WebRequest) -> AccountQuerySet[SavedView]:
    rows = SavedView.objects.of(request.account_id)
    return rows.filter(Q(owner=request.user) | Q(shared=True)).order_by("name", "pk")


@page_view("POST", needs=Permission.READ)
def save(request: WebRequest) -> HttpResponse:
    """Save the filtered list under a name, replacing this person's view of that name."""
    name = post_text(request, "name", MAX_NAME_LENGTH)
    if not name:
        raise Invalid(_("Enter a name for the view."))
    mine = SavedView.objects.of(request.account_id).filter(owner=request.user)
    if mine.exclude(name=name).count() >= MAX_VIEWS:
        raise Invalid(_("You have %(most)d views. Delete one first.") % {"most": MAX_VIEWS})
    view, _created = mine.update_or_create(
        account_id=request.account_id,
        owner=request.user,
        name=name,
        defaults={"query": _parse_query(request), "shared": "shared" in request.POST},
    )
    return redirect_with_notice(request, _("View saved."), view_url(view))


@page_view("POST", needs=Permission.READ)
def update(request: WebRequest, pk: UUID) -> HttpResponse:
    view = _get_editable(request, pk)
    view.query = _parse_query(request)
    view.save(update_fields=["query"])
    return redirect_with_notice(request, _("View saved."), view_url(view))


@page_view("GET", "POST", needs=Permission.READ)
def delete(request: WebRequest, pk: UUID) -> HttpResponse:
    """Delete a view after confirmation, because it cannot be undone."""
    view = _get_editable(request, pk)
    if request.method != "POST":
        context = {"view": view, "back_url": view_url(view)}
        return render(request, "memory/views/confirm.html", context)
    view.delete()
    message = _("View deleted. No memories were changed.")
    return redirect_with_notice(request, message, "memory:entries")


def view_url(view: SavedView) -> str:
    return f"{reverse('memory:entries')}?{view.query}{'&' if view.query else ''}view={view.pk}"


def _parse_query(request: WebRequest) -> str:
    params = QueryDict(request.POST.get("query", ""))
    query = Listing.from_params(request.account_id, params).query
    if len(query) > MAX_QUERY_LENGTH:
        raise Invalid(_("This view is too long to be saved. Shorten its search text."))
    return query


def _get_editable(request: WebRequest, pk: UUID) -> SavedView:
    """Return a view that this person may change. Admins may also change shared views."""
    view = get_object_or_404(visible_views(request), pk=pk)
    if view.owner_id != request.user.pk and Permission.SETTINGS not in request.permissions:
        raise Denied(_("This view belongs to a colleague. Save it under a new name."))
    return view
