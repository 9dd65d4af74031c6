"""Rules in the site search."""

from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from kmapp.web.site_search.name_search import find_named
from kmapp.web.site_search.registry import Matches, SearchProvider, SiteMatch, SiteSearch, register
from rules.models import Rule


def find_rules(search: SiteSearch) -> Matches:
    rows = Rule.objects.of(search.account_id)
    if state := search.query.filters.get("state"):
        rows = rows.filter(state=state)
    ids = find_named(search, rows, "name", "summary")
    rules = rows.in_bulk(ids[: search.limit])
    hits = [
        SiteMatch(
            url=reverse("rules:rule", args=[rule.pk]),
            title=search.query.mark(rule.name),
            passage=search.query.passage(rule.summary),
            badge=rule.state,
        )
        for rule in (rules[pk] for pk in ids if pk in rules)
    ]
    return Matches(hits=hits, number=len(ids))


register(
    SearchProvider(
        name="rule",
        label=_("Rules"),
        icon="scale",
        position=60,
        find=find_rules,
        filters={"state": Rule.State.values},
    )
)
