"""Tool results and calls in the site search."""

from collections.abc import Mapping
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from context.models import ContextCostReport, ToolResultArchive
from context.models.archives import COLLECTION
from kmapp.accounts.models import AccountQuerySet
from kmapp.web.site_search.registry import (
    CAP,
    Matches,
    SearchProvider,
    SiteMatch,
    SiteSearch,
    register,
)
from kmapp.web.site_search.text_search import find_ids

OWNERS = {"user": "user_id", "agent": "agent_id", "run": "conversation_id"}
# Columns whose indexes begin with the account; a prefix is a range of them.
CALL_COLUMNS = ("conversation_id", "agent_id", "model")


def find_archives(search: SiteSearch) -> Matches:
    query = search.query
    rows = _narrow(ToolResultArchive.objects.of(search.account_id), query.filters)
    ids = find_ids(search, COLLECTION, rows)
    loaded = ToolResultArchive.objects.of(search.account_id).in_bulk(ids[: search.limit])
    archives = [loaded[pk] for pk in ids if pk in loaded]
    hits = [
        SiteMatch(
            url=reverse("context:archive", args=[archive.pk]),
            title=query.mark(archive.query_summary or archive.tool_name),
            passage=query.passage(archive.result_full),
            meta=archive.tool_name,
        )
        for archive in archives
        if query.has_phrases(f"{archive.query_summary}\n{archive.result_full}")
    ]
    return Matches(hits=hits, number=len(hits) if query.phrases else len(ids))


def find_calls(search: SiteSearch) -> Matches:
    """Find calls by the beginning of their conversation, agent or model; they have no text."""
    query = search.query
    everything = ContextCostReport.objects.of(search.account_id).briefly().newest_first()
    rows = _narrow(everything, query.filters)
    if query.id:
        calls = list(rows.filter(pk=query.id))
    elif query.plain:
        first, *others = (
            rows.starting_with(column, query.plain).values("pk")[:CAP] for column in CALL_COLUMNS
        )
        calls = list(rows.filter(pk__in=first.union(*others))[:CAP])
    else:
        calls = list(rows[:CAP])
    hits = [
        SiteMatch(
            url=reverse("context:call", args=[call.pk]),
            title=query.mark(call.conversation_id or call.agent_id or str(call.pk)),
            passage=query.mark(" · ".join(filter(None, [call.agent_id, call.model]))),
            meta=ngettext("%(n)d token", "%(n)d tokens", call.total) % {"n": call.total},
        )
        for call in calls[: search.limit]
    ]
    return Matches(hits=hits, number=min(len(calls), CAP))


def _narrow(rows: AccountQuerySet[Any], filters: Mapping[str, str]) -> AccountQuerySet[Any]:
    columns = {**OWNERS, "tool": "tool_name", "model": "model"}
    return rows.filter(
        **{columns[name]: value for name, value in filters.items() if name in columns}
    )


register(
    SearchProvider(
        name="tool_result",
        label=_("Tool results"),
        icon="package",
        position=70,
        find=find_archives,
        filters={**dict.fromkeys(OWNERS), "tool": None},
    )
)
register(
    SearchProvider(
        name="call",
        label=_("Calls"),
        icon="gauge",
        position=80,
        find=find_calls,
        filters={**dict.fromkeys(OWNERS), "model": None},
    )
)
