"""Native calls for one MCP client, in threads, with the key of the client."""

import io
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

import anyio
import anyio.to_thread
import structlog
from django.core.handlers.wsgi import WSGIRequest
from django.db import close_old_connections
from rest_framework.request import Request

from interop import native_client
from interop.native_client import NativeError, NativeResponse
from kmapp.accounts.authentication import KeyAuthentication, KeyPrincipal
from kmapp.api.errors import build_server_error, translate_error
from kmapp.api.throttles import client_address, count_request

log = structlog.get_logger()
PROGRESS_SECONDS = 1.0
Report = Callable[[float], Awaitable[None]]


class NativeSession:
    """The native API for the holder of a key.

    `address` is the peer's, `forwarded_for` what proxies append, for rate limits.
    """

    def __init__(self, key: str, address: str = "", forwarded_for: str = "") -> None:
        self.key, self.address, self.forwarded_for = key, address, forwarded_for

    async def call(
        self, method: str, path: str, data: Mapping[str, Any], report: Report | None = None
    ) -> NativeResponse:
        """Call an endpoint; report the elapsed seconds once a second. Raise NativeError.

        A cancelled call returns at once; its thread finishes what it began, as a native request
        does whose client hangs up.
        """
        work = partial(self._call, method, path, data)
        outcome: NativeResponse | Exception
        async with anyio.create_task_group() as group:
            if report is not None:
                group.start_soon(_report_progress, report)
            try:
                outcome = await anyio.to_thread.run_sync(work, abandon_on_cancel=True)
            except Exception as error:  # noqa: BLE001 - a task group would wrap it in a group
                outcome = error
            group.cancel_scope.cancel()
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def authenticate(self) -> KeyPrincipal:
        """Return the owner of the key. Raise AuthenticationFailed."""
        return await anyio.to_thread.run_sync(self._authenticate)

    async def count_refusal(self) -> None:
        """Count a request without a valid key. Raise OverBudget above the limit of its address."""
        client = client_address(self._request())
        if budget := await anyio.to_thread.run_sync(count_request, "anonymous", client):
            budget.enforce()

    def _request(self) -> WSGIRequest:
        forwarded = {"HTTP_X_FORWARDED_FOR": self.forwarded_for} if self.forwarded_for else {}
        return WSGIRequest(
            {
                **forwarded,
                "REQUEST_METHOD": "POST",
                "PATH_INFO": "/mcp",
                "SERVER_NAME": "localhost",
                "SERVER_PORT": "80",
                "HTTP_AUTHORIZATION": f"Bearer {self.key}",
                "REMOTE_ADDR": self.address,
                "wsgi.url_scheme": "http",
                "wsgi.input": io.BytesIO(),
            }
        )

    def _call(self, method: str, path: str, data: Mapping[str, Any]) -> NativeResponse:
        try:
            return native_client.call(self._request(), method, path, data)
        except NativeError:
            raise
        except Exception as error:
            # The library would send the text of the exception to the client.
            log.exception("native_call_failed", path=path)
            refusal = translate_error(error) or build_server_error()
            response = NativeResponse(refusal.status, refusal.body, refusal.headers)
            raise NativeError(response) from error
        finally:
            close_old_connections()

    def _authenticate(self) -> KeyPrincipal:
        try:
            return KeyAuthentication().require(Request(self._request()))
        finally:
            close_old_connections()


async def _report_progress(report: Report) -> None:
    elapsed = 0.0
    while True:
        await anyio.sleep(PROGRESS_SECONDS)
        elapsed += PROGRESS_SECONDS
        await report(elapsed)
