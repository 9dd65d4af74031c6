"""Endpoints of mem0 that list memories and their owners."""

from collections.abc import Mapping
from functools import reduce
from operator import or_
from typing import Any, cast
from uuid import uuid5

from django.core.paginator import Paginator
from django.db.models import Count, Max, Min, Q
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from interop.mem0 import serialize
from interop.mem0.owner_filters import build_option_filters, split_by_owner
from kmapp.accounts.acting import acting
from kmapp.accounts.scopes import Scope
from kmapp.api.serializers import Typed
from kmapp.api.views import AgentView
from kmapp.errors import Invalid
from kmapp.ledger.read_verification import withhold_mismatches
from memory.api.list_entries import filter_listable
from memory.api.serialize import serialize_entry
from memory.models import EntryQuerySet, MemoryEntry
from memory.retrieval.filter_expressions import parse_filter

LISTED = (MemoryEntry.Status.ACTIVE, MemoryEntry.Status.PROPOSED)
MAX_PAGE_SIZE = 200
OWNER_TYPES = ("user", "agent", "app", "run")


class PageQuery(Typed):
    """A page of a list, in the query of the URL."""

    page = serializers.IntegerField(min_value=1, max_value=100_000, default=1)
    page_size = serializers.IntegerField(min_value=1, max_value=MAX_PAGE_SIZE, default=100)


def read_page(request: Request) -> dict[str, int]:
    query = PageQuery(data=request.query_params)
    query.is_valid(raise_exception=True)
    return dict(query.validated_data)


def page_response(request: Request, count: int, page: Mapping[str, int], results: Any) -> Response:
    """Return a page with the URLs of its neighbours, as `next` and `previous`."""
    number, size = page["page"], page["page_size"]

    def url(neighbour: int) -> str:
        query = request.query_params.copy()
        query["page"] = str(neighbour)
        return request.build_absolute_uri(f"{request.path}?{query.urlencode()}")

    return Response(
        {
            "count": count,
            "next": url(number + 1) if number * size < count else None,
            "previous": url(number - 1) if number > 1 else None,
            "results": results,
        }
    )


@extend_schema(exclude=True)
class ListMemories(AgentView):
    """List the memories of the owners that the filters name, newest first."""

    scopes = {"POST": Scope.MEMORY_READ}

    def post(self, request: Request) -> Response:
        page = read_page(request)
        rows = self._rows(cast("dict[str, Any]", request.data))
        with acting(self.account):
            rows = rows.order_by("-created_at", "-pk").with_verify_on_read(self.account)
            paginator = Paginator(rows, page["page_size"])
            entries = list(paginator.get_page(page["page"]).object_list)
            in_range = page["page"] <= paginator.num_pages
            sealed = withhold_mismatches(self.account, entries if in_range else [])
            results = [serialize.memory_item(serialize_entry(entry)) for entry in sealed]
            return page_response(request, paginator.count, page, results)

    def _rows(self, data: Mapping[str, Any]) -> EntryQuerySet:
        principal, filters = self.request.auth, data.get("filters")
        try:
            parts = split_by_owner(filters)
        except Invalid:
            if not (principal.may(Scope.ADMIN) and isinstance(filters, Mapping) and filters):
                raise
            parts = [filters]
        querysets = [
            filter_listable(principal, {"filters": part}, None).filter(parse_filter(part))
            for part in parts
        ]
        rows: EntryQuerySet = reduce(or_, querysets).filter(status__in=LISTED)
        rows = rows.filter(parse_filter(build_option_filters(data)))
        if not data.get("show_expired"):
            rows = rows.filter(Q(expires_at=None) | Q(expires_at__gt=timezone.now()))
        return rows


@extend_schema(exclude=True)
class Entities(AgentView):
    """List the users, agents, apps and runs that have memories.

    A key without the scope admin sees the owners of the memories that it wrote.
    """

    scopes = {"GET": Scope.MEMORY_READ}

    def get(self, request: Request) -> Response:
        page = read_page(request)
        with acting(self.account):
            rows = MemoryEntry.objects.of(self.account).filter(status__in=LISTED)
            if not self.request.auth.may(Scope.ADMIN):
                rows = rows.filter(created_by=str(self.actor))
            totals = _count_owners(rows)
            results = self._select_page(rows, totals, page)
        response = page_response(request, sum(totals.values()), page, results)
        response.data |= {f"total_{kind}s": total for kind, total in totals.items()}
        return response

    def _select_page(
        self, rows: EntryQuerySet, totals: Mapping[str, int], page: Mapping[str, int]
    ) -> list[dict[str, Any]]:
        """Return the owners of a page; the list has all users first, then agents, apps and runs."""
        entities: list[dict[str, Any]] = []
        start = (page["page"] - 1) * page["page_size"]
        for kind, total in totals.items():
            missing = page["page_size"] - len(entities)
            if missing and start < total:
                entities += self._list_entities(rows, kind, start, start + missing)
            start = max(0, start - total)
        return entities

    def _list_entities(
        self, rows: EntryQuerySet, kind: str, start: int, end: int
    ) -> list[dict[str, Any]]:
        column = f"{kind}_id"
        groups = (
            rows.exclude(**{column: ""})
            .order_by(column)
            .values_list(column)
            .annotate(Min("created_at"), Max("updated_at"), Count("pk"))
        )
        return [
            {
                "id": uuid5(self.account, f"{kind}:{name}"),
                "name": name,
                "type": kind,
                "owner": str(self.actor),
                "metadata": None,
                "total_memories": total,
                "created_at": created,
                "updated_at": updated,
            }
            for name, created, updated, total in groups[start:end]
        ]


def _count_owners(rows: EntryQuerySet) -> dict[str, int]:
    """Return the number of owners of each kind, in the order of `OWNER_TYPES`."""
    counts = {
        kind: Count(f"{kind}_id", distinct=True, filter=~Q(**{f"{kind}_id": ""}))
        for kind in OWNER_TYPES
    }
    return rows.aggregate(**counts)
