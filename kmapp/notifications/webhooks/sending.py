"""Sending of one signed request, as the Standard Webhooks specification describes.

The signature covers the id, the time and the body, so that a receiver can detect forged, changed
and repeated requests. The id stays the same when a request is repeated.
"""

import asyncio
import hmac
import json
import time
from base64 import b64decode, b64encode
from hashlib import sha256
from uuid import UUID

import httpcore2
from django.core.serializers.json import DjangoJSONEncoder

from kmapp.notifications.webhooks.payloads import Payload
from kmapp.security.egress.allowed_urls import AllowedSites, validate_address
from kmapp.security.egress.connections import CheckedBackend

MAX_SECONDS = 10.0  # in all


class NotAccepted(Exception):
    """The receiver did not accept the request; it may be repeated."""


def sign(secret: str, message_id: str, timestamp: int, body: bytes) -> str:
    """Return the signature of a request. `secret` is `whsec_` and the key in base64."""
    key = b64decode(secret.removeprefix("whsec_"))
    content = f"{message_id}.{timestamp}.".encode() + body
    return f"v1,{b64encode(hmac.digest(key, content, sha256)).decode()}"


def send_request(
    url: str, secret: str, message_id: UUID, payload: Payload, allowed: AllowedSites
) -> None:
    """Send a request and require a status of 2xx. Raise CannotReach or NotAccepted."""
    body = json.dumps(payload, cls=DjangoJSONEncoder, ensure_ascii=False).encode()
    timestamp = int(time.time())
    headers: dict[bytes | str, bytes | str] = {
        "Content-Type": "application/json",
        "User-Agent": "kmapp",
        "webhook-id": str(message_id),
        "webhook-timestamp": str(timestamp),
        "webhook-signature": sign(secret, str(message_id), timestamp, body),
    }
    status = asyncio.run(_post_body(validate_address(url, allowed), headers, body, allowed))
    if not 200 <= status < 300:  # noqa: PLR2004 - redirects are not followed
        raise NotAccepted(f"The receiver returned HTTP status {status}.")


async def _post_body(
    url: str, headers: dict[bytes | str, bytes | str], body: bytes, allowed: AllowedSites
) -> int:
    """Return the status of the response; its body is not read."""
    try:
        async with (
            asyncio.timeout(MAX_SECONDS),
            httpcore2.AsyncConnectionPool(network_backend=CheckedBackend(allowed)) as pool,
            pool.stream("POST", url, headers=headers, content=body) as response,
        ):
            return response.status
    except (TimeoutError, httpcore2.TimeoutException) as error:
        raise NotAccepted(
            f"The receiver did not respond within {MAX_SECONDS:.0f} seconds."
        ) from error
    except (OSError, httpcore2.NetworkError, httpcore2.ProtocolError) as error:
        raise NotAccepted("The receiver could not be reached.") from error
