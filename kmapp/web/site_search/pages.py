"""Pages, actions and members in the search over everything."""

from django.urls import reverse
from django.utils.translation import override

from kmapp.accounts.models import Membership
from kmapp.web.navigation import list_pages
from kmapp.web.site_search.name_search import find_named
from kmapp.web.site_search.registry import Matches, SiteMatch, SiteSearch


def find_pages(search: SiteSearch) -> Matches:
    """Find pages and actions by the words of their names, in the reader's language or English."""
    hits = []
    for page in list_pages(search.request):
        label = str(page.item.label)
        with override("en"):
            english = str(page.item.label)
        if search.query.matches_name(label, english):
            hits.append(SiteMatch(url=page.url, title=search.query.mark(label)))
    return Matches(hits=hits[: search.limit], number=len(hits))


def find_members(search: SiteSearch) -> Matches:
    rows = Membership.objects.of(search.account_id).select_related("user")
    if role := search.query.filters.get("role"):
        rows = rows.filter(role=role)
    ids = find_named(search, rows, "user__email", "user__first_name", "user__last_name")
    members = rows.in_bulk(ids[: search.limit])
    hits = [
        SiteMatch(
            url=reverse("web:members"),
            title=search.query.mark(member.user.get_full_name() or member.user.email),
            passage=search.query.mark(member.user.email),
            badge=member.role,
        )
        for member in (members[pk] for pk in ids if pk in members)
    ]
    return Matches(hits=hits, number=len(ids))
