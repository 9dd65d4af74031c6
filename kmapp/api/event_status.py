"""State of asynchronous work that a request started."""

from datetime import datetime
from typing import Any, TypedDict
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from kmapp.accounts.acting import acting
from kmapp.accounts.authentication import KeyPrincipal
from kmapp.accounts.scopes import READ_AND_WRITE_SCOPES, Scope
from kmapp.api.permissions import require_scope
from kmapp.api.typed_dict_schemas import serialize_as
from kmapp.api.views import AgentView
from kmapp.errors import NotFound
from kmapp.outbox.job_result_registry import load_outcome
from kmapp.outbox.models import Delivery, OutboxEvent


class DeliveryShown(TypedDict):
    """One handler of an event. `reason` states why it is pending."""

    handler: str
    state: str
    attempts: int
    due_at: datetime
    done_at: datetime | None
    failed_at: datetime | None
    last_error: str | None
    reason: str | None


class EventShown(TypedDict):
    """Asynchronous work: PENDING, RUNNING, SUCCEEDED or FAILED, in total and by handler.

    `result` is present for work that produces one.
    """

    id: UUID
    topic: str
    state: str
    status: str  # the same; every endpoint that starts work uses `status`
    attempts: int
    last_error: str | None
    reason: str | None
    created_at: datetime
    result: dict[str, Any] | None
    deliveries: list[DeliveryShown]


class OneEvent(AgentView):
    """Return the state of asynchronous work.

    A key without the scope memory:read sees the work of the areas that it may read or write, and
    the results of those that it may read.
    """

    scopes = {"GET": Scope.MEMORY_READ}
    other_scopes = READ_AND_WRITE_SCOPES

    @extend_schema(responses={200: EventShown})
    def get(self, request: Request, pk: UUID) -> Response:
        with acting(self.account):
            events = OutboxEvent.objects.of(self.account).prefetch_related("deliveries")
            event = events.filter(pk=pk).first()
            if event is None:
                raise NotFound("Event not found.")
            answer = serialize_event(event)
        if not _may_read_result(self.request.auth, event.topic):
            _hide_content(answer)
        return Response(answer)


def _may_read_result(principal: KeyPrincipal, topic: str) -> bool:
    """Return whether the key may read results of this work. Raise Denied if not even its state."""
    if principal.may(Scope.MEMORY_READ):
        return True
    prefix = topic.partition(".")[0] + ":"
    scopes = [each for each in READ_AND_WRITE_SCOPES if each.value.startswith(prefix)]
    granted = [each for each in scopes if principal.may(each)]
    if not granted:
        require_scope(principal, next(iter(scopes), Scope.MEMORY_READ))
    return any(each.only_reads for each in granted)


def _hide_content(answer: EventShown) -> None:
    """Remove the result, and all of an error but its type: the message may quote stored text."""
    answer["result"] = None
    answer["last_error"] = _get_error_type(answer["last_error"])
    for delivery in answer["deliveries"]:
        delivery["last_error"] = _get_error_type(delivery["last_error"])


def _get_error_type(error: str | None) -> str | None:
    return error.partition(":")[0] if error else None


def _find_worst_state(states: set[Delivery.State]) -> str:
    """Return the worst state: work is done when all deliveries are."""
    worse = (Delivery.State.FAILED, Delivery.State.RUNNING, Delivery.State.PENDING)
    return next((state for state in worse if state in states), Delivery.State.SUCCEEDED)


def serialize_event(event: OutboxEvent) -> EventShown:
    deliveries = sorted(event.deliveries.all(), key=lambda each: each.handler)
    state = _find_worst_state({each.state for each in deliveries})
    result = load_outcome(event.account_id, event.topic, event.payload).result
    return serialize_as(
        EventShown,
        event,
        state=state,
        status=state,
        attempts=max((each.attempts for each in deliveries), default=0),
        last_error=next((each.last_error for each in deliveries if each.last_error), None),
        reason=next((each.reason for each in deliveries if each.reason), None),
        result=dict(result) if result is not None else None,
        deliveries=[serialize_as(DeliveryShown, each) for each in deliveries],
    )
