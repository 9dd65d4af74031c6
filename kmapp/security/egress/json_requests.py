"""One request to a validated address whose response is a JSON object, bounded in time and size."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import httpcore2

from kmapp.security.egress.allowed_urls import AllowedSites, CannotReach, validate_address
from kmapp.security.egress.connections import CheckedBackend

MAX_SECONDS = 4.0  # in all: a sign-in makes up to four requests, for which a web worker waits
MAX_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonResponse:
    status: int
    body: dict[str, Any]


def request_json(
    method: str,
    url: str,
    allowed: AllowedSites,
    *,
    headers: Mapping[str, str] | None = None,
    content: bytes | None = None,
) -> JsonResponse:
    """Send one request. Redirects are not followed. Raise CannotReach."""
    sent = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "kmapp"}
    sent |= headers or {}
    status, body = asyncio.run(
        _send_request(method, validate_address(url, allowed), allowed, sent, content)
    )
    try:
        parsed = json.loads(body)
    except (ValueError, RecursionError):  # RecursionError: nested too deeply
        parsed = None
    if isinstance(parsed, dict):
        return JsonResponse(status=status, body=parsed)
    if status == HTTPStatus.OK:
        raise CannotReach("The site returned no JSON object.")
    return JsonResponse(status=status, body={})


async def _send_request(
    method: str, url: str, allowed: AllowedSites, headers: Mapping[str, str], content: bytes | None
) -> tuple[int, bytes]:
    body = bytearray()
    encoded: dict[bytes | str, bytes | str] = {name: text for name, text in headers.items()}  # noqa: C416
    try:
        async with (
            asyncio.timeout(MAX_SECONDS),
            httpcore2.AsyncConnectionPool(network_backend=CheckedBackend(allowed)) as pool,
            pool.stream(method, url, headers=encoded, content=content) as response,
        ):
            async for piece in response.aiter_stream():
                body += piece
                if len(body) > MAX_BYTES:
                    raise CannotReach(f"The response is larger than {MAX_BYTES:,} bytes.")
            return response.status, bytes(body)
    except (TimeoutError, httpcore2.TimeoutException) as error:
        raise CannotReach(f"The site did not respond within {MAX_SECONDS:.0f} seconds.") from error
    except (OSError, UnicodeError, httpcore2.NetworkError, httpcore2.ProtocolError) as error:
        raise CannotReach("The site could not be reached.") from error
