"""Endpoint for forgetting one memory, or many after a count."""

from collections.abc import Mapping
from typing import Any

from django.db.models import Q
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from kmapp.accounts.acting import acting
from kmapp.accounts.authentication import KeyPrincipal
from kmapp.accounts.scopes import Scope
from kmapp.api.serializers import Exact, IdField, any_of
from kmapp.api.views import AgentView, parse
from kmapp.errors import Denied
from memory.actions import bulk_review, review
from memory.actions.bulk_progress import get_progress
from memory.actions.bulk_review import StartedRun
from memory.actions.confirmation_tickets import TICKET_LIFETIME
from memory.actions.entry_locks import lock_entry
from memory.actions.review import Decision
from memory.api import serialize
from memory.api.access import filter_forgettable, get_entry
from memory.api.response_types import Forgetting, ForgettingCount, Memory
from memory.api.shared_request_serializers import EntryFilters, select_owner_filters
from memory.models import EntryQuerySet, MemoryEntry
from memory.models.entries import OWNER_IDS
from memory.retrieval.filter_expressions import parse_filter

NARROWING_FIELDS = ("kinds", "tags", "filters", "observed_before", "observed_after")


class ForgetInput(Exact, EntryFilters):
    """One memory by its ID or client ID, or all memories that match owner and filters.

    All given fields must match. Several memories are only counted until the request is repeated
    with its `confirm_token`. A request with nothing but a user, an agent, an app or a run selects
    all of their memories.
    """

    aliases = {**EntryFilters.aliases, "memory_id": "id", "node_id": "id"}
    together = any_of("id", "client_id", *OWNER_IDS, *NARROWING_FIELDS)

    id = serializers.UUIDField(required=False)
    client_id = IdField()
    confirm_token = serializers.CharField(
        max_length=1000, required=False, allow_null=True, allow_blank=True,
        help_text="From the count; it is good for ten minutes.",
    )  # fmt: skip
    reason = serializers.CharField(max_length=1000, required=False, allow_blank=True)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Require a selection, so that omitting a field cannot forget everything."""
        if not any(attrs.get(name) for name in ("id", "client_id", *OWNER_IDS, *NARROWING_FIELDS)):
            raise serializers.ValidationError(
                {
                    "id": "Send at least one of id, client_id, user_id, agent_id, app_id, "
                    "run_id or filters."
                }
            )
        return attrs


class Forget(AgentView):
    """Forget memories: hide them from recall. A person can restore them.

    A memory named by its ID is forgotten immediately. Several memories are counted first, and the
    response contains the token to confirm. Workers forget large selections; `/v1/events/{id}`
    reports the progress of each of `event_ids`.
    """

    scopes = {"POST": Scope.MEMORY_WRITE}

    @extend_schema(
        request=ForgetInput, responses={200: Memory | ForgettingCount | Forgetting, 202: Forgetting}
    )
    def post(self, request: Request) -> Response:
        data = parse(ForgetInput, request)
        with acting(self.account):
            if data.get("id") or data.get("client_id"):
                return self.seal(Response(serialize.serialize_entry(self._forget_one(data))))
            rows = _selected_entries(self.request.auth, data)
            retained = bulk_review.requiring_review(self.account, self.actor, rows)
            rows = rows.exclude(pk__in=retained.values("pk"))
            if not data.get("confirm_token"):
                return Response(self._serialize_count(rows, needs_review=retained.count()))
            started = bulk_review.forget_entries(
                self.account,
                rows,
                self.actor,
                ticket=data["confirm_token"],
                reason=data.get("reason", ""),
            )
            output = _serialize_run(started)
            return self.seal(Response(output, status=202 if started.events else 200))

    def _forget_one(self, data: Mapping[str, Any]) -> MemoryEntry:
        rows = filter_forgettable(self.request.auth, data).filter(_filter_conditions(data))
        entry = get_entry(self.account, rows, data)
        # Locked, so that it is neither erased before the response is stored nor approved meanwhile.
        entry = lock_entry(self.account, entry.pk)
        if entry.status == MemoryEntry.Status.FORGOTTEN:
            return entry
        this = MemoryEntry.objects.of(self.account).filter(pk=entry.pk)
        everyones = entry.visibility == MemoryEntry.Visibility.ACCOUNT
        if everyones and bulk_review.requiring_review(self.account, self.actor, this).exists():
            raise Denied(
                "This memory is visible to everyone. Ask a reviewer to forget it.",
                code="needs_review",
            )
        return review.forget(
            Decision(
                account_id=self.account,
                entry_id=entry.pk,
                actor=self.actor,
                reason=data.get("reason", ""),
            )
        )

    def _serialize_count(self, rows: EntryQuerySet, *, needs_review: int) -> ForgettingCount:
        matches = bulk_review.preview_forget(self.account, rows, self.actor)
        return {
            "forgotten": False,
            "count": matches.memories,
            "needs_review": needs_review,
            "confirm_token": matches.ticket or None,
            "expires_in_seconds": int(TICKET_LIFETIME.total_seconds()),
        }


def _serialize_run(started: StartedRun) -> Forgetting:
    done = get_progress(started.run)
    status = "SUCCEEDED" if done.is_finished else "PENDING"
    return {
        "forgotten": done.is_finished,
        "count": done.done if done.is_finished else done.requested,
        "status": status,
        "state": status,
        "event_ids": list(started.events),
    }


def _selected_entries(principal: KeyPrincipal, data: Mapping[str, Any]) -> EntryQuerySet:
    """Return the memories that the key may read and the request selects.

    A key without the scope admin that names no owner selects account-wide memories only. If it
    names an agent or a run but no user, memories of users are excluded, because two users may have
    runs of the same name.
    """
    rows = MemoryEntry.objects.of(principal.account_id)
    named = select_owner_filters(data)
    rows = rows.filter(**named)
    if not principal.may(Scope.ADMIN):
        rows = rows.current_or_written_by(str(principal.actor))
        if not named:
            rows = rows.filter(visibility=MemoryEntry.Visibility.ACCOUNT)
        elif "user_id" not in named:
            nobodys, in_run = Q(user_id=""), Q(visibility=MemoryEntry.Visibility.CONVERSATION)
            rows = rows.filter(nobodys | in_run if "run_id" in named else nobodys)
    return rows.filter(_filter_conditions(data))


def _filter_conditions(data: Mapping[str, Any]) -> Q:
    matches = Q()
    for name, lookup in (
        ("scope", "scope"),
        ("kinds", "kind__in"),
        ("tags", "tags__contains"),
        ("observed_after", "observed_at__gte"),
        ("observed_before", "observed_at__lt"),
    ):
        if data.get(name):
            matches &= Q(**{lookup: data[name]})
    return matches & parse_filter(data["filters"]) if data.get("filters") else matches
