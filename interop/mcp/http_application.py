"""MCP over streamable HTTP: an ASGI application at /mcp.

Every request is independent: there are no sessions to lose when the server restarts, and any number
of processes may serve.
"""

import math
from http import HTTPStatus

from django.conf import settings
from django.db import DatabaseError, InterfaceError
from django.http.request import split_domain_port, validate_host
from mcp.server.transport_security import TransportSecuritySettings
from rest_framework.exceptions import AuthenticationFailed
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from interop.mcp.native_session import NativeSession
from interop.mcp.server import Context, McpServer
from kmapp.accounts.authentication import parse_keys
from kmapp.api.errors import translate_error
from kmapp.errors import OverBudget

PATH = "/mcp"
CHALLENGE = 'Bearer realm="kmapp", error="invalid_token"'


def application() -> ASGIApp:
    """Return the application; each call is authenticated before the protocol sees it."""
    server = McpServer(lambda context: session_of(request_of(context))).build()
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        stateless_http=True,
        max_request_body_size=settings.DATA_UPLOAD_MAX_MEMORY_SIZE,
        # `RequireKey` checks the headers: the library knows no pattern of subdomains.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    return RequireKey(app)


def is_allowed_host(host: str) -> bool:
    """Return whether ALLOWED_HOSTS has the host of a Host header or an origin, with any port."""
    domain, _port = split_domain_port(host)
    return "*" in settings.ALLOWED_HOSTS or (
        bool(domain) and validate_host(domain, settings.ALLOWED_HOSTS)
    )


def is_allowed_origin(origin: str) -> bool:
    """Return whether a web page of this origin may call; other clients send none."""
    if not origin or "*" in settings.ALLOWED_HOSTS or origin in settings.CSRF_TRUSTED_ORIGINS:
        return True
    scheme, _, host = origin.partition("://")
    return scheme in ("http", "https") and is_allowed_host(host)


def request_of(context: Context) -> Request:
    if context.request is None:
        raise RuntimeError("The transport passed no HTTP request.")
    request: Request = context.request
    return request


def session_of(request: Request) -> NativeSession:
    key = next(parse_keys(request.headers), "")
    address = request.client.host if request.client else ""
    return NativeSession(key, address, ",".join(request.headers.getlist("X-Forwarded-For")))


class RequireKey:
    """Answer 401 to requests without a valid key, and 429 above the limit of their address.

    Requests for other hosts, and from web pages of other hosts, are refused too: a page could
    make its own name resolve to this server (DNS rebinding).
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self.app
        if scope["type"] == "http":
            if settings.BEHIND_TLS:  # the scheme of redirects
                scope = {**scope, "scheme": "https"}
            request = Request(scope)
            app = (
                await _find_refusal(session_of(request))
                or _find_foreign_host(request)
                or _find_unsupported_method(request)
                or app
            )
        await app(scope, receive, send)


def _find_foreign_host(request: Request) -> Response | None:
    """Return the response to a request for another host, or from a page of one, or None."""
    if not is_allowed_host(request.headers.get("Host", "")):
        return Response("Invalid Host header", HTTPStatus.MISDIRECTED_REQUEST)
    if not is_allowed_origin(request.headers.get("Origin", "")):
        return Response("Invalid Origin header", HTTPStatus.FORBIDDEN)
    return None


def _find_unsupported_method(request: Request) -> Response | None:
    """Return the response to a GET, which would open a stream for messages outside of calls.

    There are no such messages, and a server that stops would wait for the stream.
    """
    if request.method != "GET":
        return None
    text = "There is no stream of messages outside of calls. Send requests with POST."
    return Response(text, HTTPStatus.METHOD_NOT_ALLOWED, {"Allow": "POST"})


async def _find_refusal(session: NativeSession) -> Response | None:
    """Return the response to a request whose key is not valid or cannot be checked, or None."""
    try:
        await session.authenticate()
    except AuthenticationFailed as error:
        body = {"error": "invalid_token", "error_description": str(error.detail)}
    except (DatabaseError, InterfaceError) as error:
        if (refusal := translate_error(error)) is None:
            raise
        return JSONResponse(refusal.body, refusal.status, refusal.headers)
    else:
        return None
    try:
        await session.count_refusal()
    except OverBudget as error:
        pause = {"Retry-After": str(math.ceil(error.retry_after))}
        return JSONResponse(error.body(), error.status, pause)
    return JSONResponse(body, HTTPStatus.UNAUTHORIZED, {"WWW-Authenticate": CHALLENGE})
