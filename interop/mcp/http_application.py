"""MCP over streamable HTTP: an ASGI application at /mcp.

Every request is independent: there are no sessions to lose when the server restarts, and any number
of processes may serve.
"""

import json
from typing import Any

from django.conf import settings
from mcp.server.transport_security import TransportSecuritySettings
from rest_framework.exceptions import AuthenticationFailed
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from interop.mcp.native_session import NativeSession
from interop.mcp.server import Context, McpServer
from kmapp.accounts.authentication import parse_keys

PATH = "/mcp"
CHALLENGE = 'Bearer realm="kmapp", error="invalid_token"'


def application() -> ASGIApp:
    """Return the application; each call is authenticated before the protocol sees it."""
    server = McpServer(lambda context: session_of(request_of(context))).build()
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        stateless_http=True,
        max_request_body_size=settings.DATA_UPLOAD_MAX_MEMORY_SIZE,
        transport_security=transport_security(),
    )
    return RequireKey(app)


def transport_security() -> TransportSecuritySettings:
    """Accept the host names in ALLOWED_HOSTS, and web pages of these hosts only."""
    hosts = [host.lstrip(".") for host in settings.ALLOWED_HOSTS]
    names = [name for host in hosts for name in (host, f"{host}:*")]
    origins = [f"{scheme}://{name}" for scheme in ("http", "https") for name in names]
    return TransportSecuritySettings(
        enable_dns_rebinding_protection="*" not in hosts,
        allowed_hosts=names,
        allowed_origins=[*origins, *settings.CSRF_TRUSTED_ORIGINS],
    )


def request_of(context: Context) -> Request:
    if context.request is None:
        raise RuntimeError("The transport passed no HTTP request.")
    request: Request = context.request
    return request


def session_of(request: Request) -> NativeSession:
    key = next(parse_keys(request.headers), "")
    return NativeSession(key, request.client.host if request.client else "")


class RequireKey:
    """Answer 401 to requests without a valid key."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            try:
                await session_of(Request(scope)).authenticate()
            except AuthenticationFailed as error:
                await _refuse(send, str(error.detail))
                return
        await self.app(scope, receive, send)


async def _refuse(send: Send, message: str) -> None:
    body = json.dumps({"error": "invalid_token", "error_description": message}).encode()
    headers: list[Any] = [
        (b"content-type", b"application/json"),
        (b"www-authenticate", CHALLENGE.encode()),
    ]
    await send({"type": "http.response.start", "status": 401, "headers": headers})
    await send({"type": "http.response.body", "body": body})
