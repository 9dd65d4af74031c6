"""Operations of mem0 that kmapp does not offer; each answers 501 and says why."""

from http import HTTPStatus
from typing import Any, ClassVar

from django.http import HttpRequest, HttpResponse
from django.urls import path

from interop.native_client import NativeResponse
from interop.protocol_view import ProtocolView


class NotOffered(ProtocolView):
    """Answer 501, once the key is known to be valid."""

    reason: ClassVar[str] = ""

    def http_method_not_allowed(
        self, request: HttpRequest, *args: Any, **kwargs: Any
    ) -> HttpResponse:
        """Answer every method alike."""
        len(request.body)  # a server that leaves a body unread resets the connection
        self.get_native("/v1/agent-tools")
        status = int(HTTPStatus.NOT_IMPLEMENTED)
        body = {
            "status": status,
            "error": "not_offered",
            "message": self.reason,
            "detail": self.reason,
            "details": {},
            "issues": [],
        }
        return self._error(NativeResponse(status, body))


PROFILES = "kmapp does not write user profiles. Search the memories of the user."
SUMMARIES = "kmapp does not summarise on request. Use POST /v1/memory/inject for a prompt block."
MEMBERS = "Members and accounts are managed in the browser."

urlpatterns = [
    path(route, NotOffered.as_view(reason=reason))
    for route, reason in (
        ("v2/entities/user/<str:name>/profile", PROFILES),
        ("v2/profiles/<path:rest>", PROFILES),
        ("v1/summary", SUMMARIES),
        ("api/v1/orgs/organizations/<str:org>/projects", MEMBERS),
        ("api/v1/orgs/organizations/<str:org>/projects/<str:project>/members", MEMBERS),
    )
]
