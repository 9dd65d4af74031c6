"""Endpoints of mem0 for asynchronous work."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.http import HttpRequest
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from interop.mem0.listing import page_response, read_page
from interop.protocol_view import ProtocolView
from kmapp.accounts.acting import acting
from kmapp.accounts.scopes import Scope
from kmapp.api.event_status import serialize_event
from kmapp.api.views import AgentView
from kmapp.outbox.models import OutboxEvent
from memory.actions.extraction_requests import EXTRACT


class OneEvent(ProtocolView):
    """Report how far the processing of messages is."""

    def get(self, request: HttpRequest, pk: UUID) -> Any:
        return _event(self.get_native(f"/v1/events/{pk}"))


@extend_schema(exclude=True)
class EventList(AgentView):
    """List the latest processing of messages, newest first."""

    scopes = {"GET": Scope.ADMIN}
    bucket = "recall"

    def get(self, request: Request) -> Response:
        page = read_page(request)
        start = (page["page"] - 1) * page["page_size"]
        with acting(self.account):
            events = OutboxEvent.objects.of(self.account).filter(topic=EXTRACT)
            rows = events.order_by("-created_at", "-pk").prefetch_related("deliveries")
            results = [
                _event(serialize_event(row)) for row in rows[start : start + page["page_size"]]
            ]
            return page_response(request, events.count(), page, results)


def _event(event: Mapping[str, Any]) -> dict[str, Any]:
    finished = [each["done_at"] or each["failed_at"] for each in event["deliveries"]]
    completed = max(finished) if finished and all(finished) else None
    return {
        "id": event["id"],
        "event_type": "ADD",
        "status": event["state"],
        "payload": None,
        "metadata": {"reason": event["reason"]} if event["reason"] else None,
        "results": [_result(each) for each in (event["result"] or {}).get("results", [])],
        "error": event["last_error"],
        "created_at": event["created_at"],
        "updated_at": completed or event["created_at"],
        "started_at": event["created_at"] if event["attempts"] else None,
        "completed_at": completed,
        "latency": (completed - event["created_at"]).total_seconds() * 1000 if completed else None,
    }


def _result(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return a native result with its text where clients look for it."""
    return {**result, "memory": result.get("text"), "data": {"memory": result.get("text") or ""}}
