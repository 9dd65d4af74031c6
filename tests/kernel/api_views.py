"""Endpoints for tests of the API framework, and their URLs beside the real ones."""

from collections.abc import Callable
from typing import Any

from django.db import OperationalError, connection
from django.http import HttpRequest, HttpResponse
from django.urls import include, path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.accounts.scopes import Scope
from kmapp.api.serializers import Aliases
from kmapp.api.views import AgentView, parse
from kmapp.database.ids import uuid7
from kmapp.errors import Conflict, Gone, Unavailable
from kmapp.web.error_views import handler400, handler403, handler404, handler500

__all__ = ["handler400", "handler403", "handler404", "handler500", "urlpatterns"]


class Part(Aliases):
    text = serializers.CharField(max_length=20)
    kind = serializers.ChoiceField(["fact", "event"], default="fact")


class NoteInput(Aliases):
    text = serializers.CharField()
    run_id = serializers.CharField(required=False)
    metadata = serializers.JSONField(required=False)
    parts = Part(many=True, required=False)


class NoteOutput(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    text = serializers.CharField()


class RenameInput(serializers.Serializer[Any]):
    late = serializers.BooleanField(default=False)


class BrokenInput(serializers.Serializer[Any]):
    mode = serializers.CharField()


class Notes(AgentView):
    scopes = {"GET": Scope.MEMORY_READ, "POST": Scope.MEMORY_WRITE}

    @extend_schema(request=NoteInput, responses={201: NoteOutput})
    def post(self, request: Request) -> Response:
        note = parse(NoteInput, request)
        return Response({**note, "id": uuid7()}, status=201)

    @extend_schema(parameters=[NoteInput], responses=NoteOutput)
    def get(self, request: Request) -> Response:
        return Response(parse(NoteInput, request))


class Rename(AgentView):
    """Changes a row and stores the response with it; `late` refuses after that."""

    scopes = {"POST": Scope.MEMORY_WRITE}

    def post(self, request: Request) -> Response:
        with acting(self.account):
            account = Account.objects.get(pk=self.account)
            account.name += "!"
            account.save()
            answer = self.seal(Response({"name": account.name, "id": str(account.pk)}))
            if parse(RenameInput, request)["late"]:
                raise Conflict("Refused after all.", code="too_late")
        return answer


class Silent(AgentView):
    """Declares no scope."""

    def post(self, request: Request) -> Response:
        raise AssertionError("reached without a scope")


class Broken(AgentView):
    """Fails as the body says."""

    scopes = {"POST": Scope.MEMORY_READ}
    idempotent = True
    modes: list[str] = []

    def post(self, request: Request) -> Response:
        mode = parse(BrokenInput, request)["mode"]
        self.modes.append(mode)
        if mode == "gone":
            raise Gone("It was erased.", details={"id": "\ud800"})
        if mode == "unavailable":
            raise Unavailable("Not yet.", retry_after=2.3)
        if mode == "slow":
            with acting(self.account), connection.cursor() as cursor:
                cursor.execute("SET LOCAL statement_timeout = 20")
                cursor.execute("SELECT pg_sleep(5)")
        raise RuntimeError("a secret word")


def breaking(_get_response: Any) -> Callable[[HttpRequest], HttpResponse]:
    """Fail in a middleware, before any view."""

    def fail(request: HttpRequest) -> HttpResponse:
        raise OperationalError if "busy" in request.GET else RuntimeError("a secret word")

    return fail


urlpatterns = [
    path("v1/notes", Notes.as_view()),
    path("v1/rename", Rename.as_view()),
    path("v1/silent", Silent.as_view()),
    path("v1/broken", Broken.as_view()),
    path("", include("kmapp.api.urls")),
    path("", include("kmapp.web.urls")),
]
