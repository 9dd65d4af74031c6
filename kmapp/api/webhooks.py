"""API of webhooks."""

from datetime import datetime
from typing import Any, NotRequired, TypedDict
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from kmapp.accounts.acting import acting
from kmapp.accounts.scopes import Scope
from kmapp.api.serializers import Typed
from kmapp.api.typed_dict_schemas import ParsedAnswer, serialize_as
from kmapp.api.views import AgentView, parse
from kmapp.errors import NotFound
from kmapp.notifications.webhooks.actions import create_webhook, delete_webhook, update_webhook
from kmapp.notifications.webhooks.change_registry import list_event_types
from kmapp.notifications.webhooks.models import Webhook
from kmapp.notifications.webhooks.payloads import NATIVE, list_formats
from kmapp.security.egress.allowed_urls import MAX_LENGTH


class EventTypesField(serializers.ListField):
    """Names of event types. All apps have registered theirs when this module is imported."""

    def __init__(self, **kwargs: Any) -> None:
        names = serializers.ChoiceField(choices=list(list_event_types()))
        super().__init__(child=names, min_length=1, max_length=50, **kwargs)


class WebhookInput(Typed):
    """A webhook."""

    name = serializers.CharField(max_length=100)
    url = serializers.CharField(max_length=MAX_LENGTH)
    event_types = EventTypesField()
    payload_format = serializers.ChoiceField(choices=list_formats(), default=NATIVE)


class WebhookChanges(Typed):
    """New values. Fields that are left out keep theirs."""

    name = serializers.CharField(max_length=100, required=False)
    url = serializers.CharField(max_length=MAX_LENGTH, required=False)
    event_types = EventTypesField(required=False)
    is_active = serializers.BooleanField(required=False)


class WebhookAnswer(ParsedAnswer):
    """A webhook. `secret` is present when it is created, and never again."""

    id: UUID
    name: str
    url: str
    event_types: list[str]
    payload_format: str
    is_active: bool
    created_by: str
    created_at: datetime
    updated_at: datetime
    last_attempt_at: datetime | None
    last_error: str | None
    secret: NotRequired[str]


class WebhooksAnswer(TypedDict):
    """All webhooks of the account, newest first."""

    results: list[WebhookAnswer]


class DeletedAnswer(TypedDict):
    """The webhook that was deleted."""

    id: UUID
    deleted: bool


class WebhookList(AgentView):
    """List the webhooks of the account, or create one.

    The answer to a creation holds the signing secret, in the form of the Standard Webhooks
    specification. Store it: it cannot be read later, also not by repeating the request with its
    Idempotency-Key.
    """

    scopes = {"GET": Scope.ADMIN, "POST": Scope.ADMIN}

    @extend_schema(responses={200: WebhooksAnswer})
    def get(self, request: Request) -> Response:
        with acting(self.account):
            rows = Webhook.objects.of(self.account).order_by("-created_at")
            return Response({"results": [serialize_as(WebhookAnswer, row) for row in rows]})

    @extend_schema(request=WebhookInput, responses={201: WebhookAnswer})
    def post(self, request: Request) -> Response:
        data = parse(WebhookInput, request)
        with acting(self.account):
            created = create_webhook(account_id=self.account, actor=self.actor, **data)
            output = serialize_as(WebhookAnswer, created.webhook)
            self.seal(Response(output, status=201))  # stored without the secret
        return Response({**output, "secret": created.secret}, status=201)


class OneWebhook(AgentView):
    """Return, change or delete a webhook."""

    scopes = {"GET": Scope.ADMIN, "PATCH": Scope.ADMIN, "DELETE": Scope.ADMIN}

    @extend_schema(responses={200: WebhookAnswer})
    def get(self, request: Request, pk: UUID) -> Response:
        with acting(self.account):
            row = Webhook.objects.of(self.account).filter(pk=pk).first()
        if row is None:
            raise NotFound("Webhook not found.")
        return Response(serialize_as(WebhookAnswer, row))

    @extend_schema(request=WebhookChanges, responses={200: WebhookAnswer})
    def patch(self, request: Request, pk: UUID) -> Response:
        values: dict[str, Any] = parse(WebhookChanges, request)
        with acting(self.account):
            row = update_webhook(self.account, pk, values, actor=self.actor)
        return Response(serialize_as(WebhookAnswer, row))

    @extend_schema(responses={200: DeletedAnswer})
    def delete(self, request: Request, pk: UUID) -> Response:
        with acting(self.account):
            delete_webhook(self.account, pk, actor=self.actor)
        return Response({"id": pk, "deleted": True})
