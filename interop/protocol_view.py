"""Base class of protocol endpoints."""

from collections.abc import Iterator, Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.csrf import csrf_exempt
from rest_framework.utils.encoders import JSONEncoder

from interop import native_client
from interop.native_client import NativeError, NativeResponse, NativeView
from kmapp.api.errors import build_refusal, render_refusal, translate_error
from kmapp.api.parsers import parse_body

PAGE = 200  # memories; the most that a native list returns at once
MAX_ATTEMPTS = 5  # to forget memories that others change meanwhile


@method_decorator(csrf_exempt, name="dispatch")
class ProtocolView(View):
    """An endpoint that translates between a protocol and native calls.

    A handler returns the data of its JSON response, or (status, data). Subclasses for a protocol
    with its own error shape override `error_body`.
    """

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        self.headers: dict[str, str] = {}
        try:
            result: Any = super().dispatch(request, *args, **kwargs)
        except NativeError as error:
            return self._error(error.response)
        except Exception as error:
            refusal = translate_error(error)
            if refusal is None:
                raise
            return render_refusal(refusal)
        if isinstance(result, HttpResponseBase):
            return result
        status, data = result if isinstance(result, tuple) else (200, result)
        return self._json(data, status)

    def http_method_not_allowed(
        self, request: HttpRequest, *args: Any, **kwargs: Any
    ) -> HttpResponse:
        return render_refusal(build_refusal(405, f"Method {request.method} is not allowed here."))

    def _error(self, response: NativeResponse) -> JsonResponse:
        self.headers.update(response.headers)
        return self._json(self.error_body(response), response.status)

    def _json(self, data: Any, status: int) -> JsonResponse:
        return JsonResponse(
            data, encoder=JSONEncoder, safe=False, status=status, headers=self.headers
        )

    def error_body(self, response: NativeResponse) -> Any:
        """Return the body of an error in the protocol's shape; by default the native one."""
        return response.data

    def body(self) -> dict[str, Any]:
        """Return the JSON body of the request; an empty body is an empty object."""
        return parse_body(self.request.body) if self.request.body else {}

    def post_native(
        self,
        path: str,
        data: Mapping[str, Any],
        *,
        idempotent: bool = False,
        view: NativeView | None = None,
    ) -> Any:
        """Return the data of a native POST, of the view of this path or of the given one."""
        return self.call_native("POST", path, data, idempotent=idempotent, view=view)

    def get_native(self, path: str, query: Mapping[str, Any] | None = None) -> Any:
        """Return the data of a native GET."""
        return self.call_native("GET", path, query)

    def call_native(
        self,
        method: str,
        path: str,
        data: Mapping[str, Any] | None,
        *,
        idempotent: bool = False,
        view: NativeView | None = None,
    ) -> Any:
        """Return the data of a native response."""
        response = native_client.call(
            self.request, method, path, data, idempotent=idempotent, view=view
        )
        self.headers.update(response.headers)
        return response.data

    def iterate_memories(self, body: Mapping[str, Any], limit: int) -> Iterator[Mapping[str, Any]]:
        """Yield the memories of a native list page by page, up to a page more than `limit`."""
        number, cursor = 0, None
        while number <= limit:
            page = {**body, "limit": PAGE, "cursor": cursor}
            answer = self.post_native("/v1/memory/list", page)
            yield from answer["results"]
            number, cursor = number + len(answer["results"]), answer["next_cursor"]
            if cursor is None:
                return

    def list_memories(self, body: Mapping[str, Any], limit: int) -> list[Mapping[str, Any]]:
        """Return the memories of a native list, newest first, up to a page more than `limit`."""
        return list(self.iterate_memories(body, limit))

    def forget_owned(self, owner: Mapping[str, Any]) -> dict[str, Any]:
        """Count the memories of an owner, confirm the count, and return it with the first event.

        `owner` is the body of a native request: ids, filters, or both. They are counted again if
        another request changed them in between.
        """
        attempts = 0
        while True:
            counted, attempts = self.post_native("/v1/memory/forget", owner), attempts + 1
            if not counted["count"]:
                return {"count": 0, "event_id": None}
            confirmed = {**owner, "confirm_token": counted["confirm_token"]}
            try:
                done = self.post_native("/v1/memory/forget", confirmed)
            except NativeError as error:
                if attempts == MAX_ATTEMPTS or error.response.data["error"] != "count_changed":
                    raise
            else:
                return {"count": done["count"], "event_id": next(iter(done["event_ids"]), None)}
