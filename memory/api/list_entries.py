"""Endpoint for listing memories by page."""

import base64
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.db.models import Q
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from kmapp.accounts.acting import acting
from kmapp.accounts.authentication import KeyPrincipal
from kmapp.accounts.scopes import Scope
from kmapp.api.serializers import MAX_ID_LENGTH, OneOrMore
from kmapp.api.views import AgentView, parse
from kmapp.errors import Invalid
from kmapp.ledger.read_verification import withhold_mismatches
from memory.api import serialize
from memory.api.page_byte_limit import fit_page
from memory.api.response_types import ListAnswer
from memory.api.shared_request_serializers import FiltersField, OwnerAndKinds, build_viewer
from memory.models import EntryQuerySet, MemoryEntry
from memory.models.entries import OWNER_IDS
from memory.retrieval.as_of import PastState, exclude_hidden_entries
from memory.retrieval.filter_expressions import parse_filter

DEFAULT_LIMIT = 50
MAX_LIMIT = 200


class ListInput(OwnerAndKinds):
    """Filters and page of a list."""

    aliases = {**OwnerAndKinds.aliases, "id": "ids", "memory_ids": "ids", "client_id": "client_ids"}

    ids = OneOrMore(child=serializers.UUIDField(), max_length=MAX_LIMIT, required=False)
    client_ids = OneOrMore(
        child=serializers.CharField(max_length=MAX_ID_LENGTH), max_length=MAX_LIMIT, required=False
    )
    tags = OneOrMore(
        child=serializers.CharField(max_length=100), required=False, help_text="All of them."
    )
    status = serializers.ChoiceField(choices=MemoryEntry.Status.choices, required=False)
    pinned = serializers.BooleanField(required=False, allow_null=True, default=None)
    filters = FiltersField()
    as_of = serializers.DateTimeField(required=False, allow_null=True)
    limit = serializers.IntegerField(min_value=1, max_value=MAX_LIMIT, default=DEFAULT_LIMIT)
    cursor = serializers.CharField(
        max_length=200, required=False, allow_blank=True, allow_null=True,
        help_text="The next_cursor of the page before.",
    )  # fmt: skip


class ListMemories(AgentView):
    """List memories, newest first.

    A key without the scope admin lists the memories that are visible to the given IDs, and those
    that it wrote itself; an admin key lists all memories of the account. With `as_of`, list them at
    an earlier time. A page may have fewer memories than the limit, if they are very long.
    """

    scopes = {"POST": Scope.MEMORY_READ}

    @extend_schema(request=ListInput, responses={200: ListAnswer})
    def post(self, request: Request) -> Response:
        data = parse(ListInput, request)
        condition, limit = _build_condition(data), data["limit"]
        with acting(self.account):
            rows = filter_listable(self.request.auth, data, data.get("as_of"))
            rows = rows.filter(condition)
            if cursor := data.get("cursor"):
                rows = rows.filter(_parse_cursor(cursor))
            rows = rows.order_by("-created_at", "-pk").with_verify_on_read(self.account)
            rows = rows[: limit + 1]
            if at := data.get("as_of"):
                present = filter_listable(self.request.auth, data, at, visible_only=False)
                past = PastState(
                    account_id=self.account, at=at, present=exclude_hidden_entries(present)
                )
                entries = past.load_entries(rows)
            else:
                entries = list(rows)
            page = fit_page(entries[:limit], lambda row: [row.content, row.slots, row.sources])
            sealed = withhold_mismatches(self.account, page, is_past=at is not None)
            serialized = [serialize.serialize_entry(entry) for entry in sealed]
        next_cursor = _format_cursor(page[-1]) if len(entries) > len(page) else None
        return Response({"results": serialized, "next_cursor": next_cursor})


def filter_listable(
    principal: KeyPrincipal,
    data: Mapping[str, Any],
    at: datetime | None,
    *,
    visible_only: bool = True,
) -> EntryQuerySet:
    """Return the memories that a key may list; without IDs, account-wide ones only."""
    rows = MemoryEntry.objects.of(principal.account_id)
    viewer = build_viewer(data)
    if principal.may(Scope.ADMIN):
        # A filter alone only narrows.
        has_owner = any(data.get(name) for name in (*OWNER_IDS, "scope"))
        return rows.visible_to(viewer) if has_owner else rows
    if visible_only:
        rows = rows.current_or_written_by(str(principal.actor), at)
    return rows.visible_to(viewer)


def _build_condition(data: Mapping[str, Any]) -> Q:
    condition = Q()
    for name, lookup in (("ids", "pk__in"), ("client_ids", "client_id__in"), ("kinds", "kind__in")):
        if name in data:
            condition &= Q(**{lookup: data[name]})
    if data.get("tags"):
        condition &= Q(tags__contains=data["tags"])
    if "status" in data:
        condition &= Q(status=data["status"])
    if data["pinned"] is not None:
        condition &= Q(pinned=data["pinned"])
    return condition & parse_filter(data["filters"]) if data.get("filters") else condition


def _format_cursor(entry: MemoryEntry) -> str:
    cursor_text = f"{entry.created_at.isoformat()} {entry.pk}"
    return base64.urlsafe_b64encode(cursor_text.encode()).decode()


def _parse_cursor(cursor: str) -> Q:
    """Return the rows after the last memory of a page."""
    try:
        cursor_text = base64.urlsafe_b64decode(cursor.encode()).decode()
        created_at, _, last = cursor_text.rpartition(" ")
        at, pk = datetime.fromisoformat(created_at), UUID(last)
        # In UTC, because the database refuses some offsets, such as +20:00.
        at = at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
    except (ValueError, OverflowError) as error:
        issue = {"path": "cursor", "message": "is not a next_cursor of this list"}
        raise Invalid(
            "This cursor is not valid. Start again without a cursor.", issues=[issue]
        ) from error
    return Q(created_at__lt=at) | Q(created_at=at, pk__lt=pk)
