"""Sending: headers, idempotency keys, retries and errors, for both clients."""

import json
import random
import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from kmapp_client.calls import Call, T
from kmapp_client.errors import ServerError, build_error, read_retry_after

RETRIED_STATUSES = frozenset({429, 502, 503, 504})
IN_FLIGHT = "idempotency_in_flight"  # the first request with this key still runs
USER_AGENT = "kmapp-client/0.1.0"


@dataclass(frozen=True, slots=True)
class Retry:
    """How often and after which delay a request is repeated; delays are in seconds.

    A response whose Retry-After is longer than `longest_wait` is an error at once.
    """

    attempts: int = 3  # after the first one: four in all, as in the TypeScript client
    first_delay: float = 0.2
    longest_delay: float = 10.0
    longest_wait: float = 60.0

    def delay(self, number: int, response: httpx.Response | None) -> float:
        """Return the delay before the attempt with this number, from 1."""
        wait = read_retry_after(response.headers) if response is not None else 0.0
        grown = min(self.first_delay * 2.0 ** (number - 1), self.longest_delay)
        return max(wait, grown * random.uniform(0.5, 1.0))  # noqa: S311 - spreads the load

    def applies(self, number: int, response: httpx.Response | None) -> bool:
        """Return whether to repeat after this response, or after None for a lost connection."""
        if number > self.attempts:
            return False
        if response is None:
            return True
        if read_retry_after(response.headers) > self.longest_wait:
            return False
        if response.status_code in RETRIED_STATUSES:
            return True
        return response.status_code == httpx.codes.CONFLICT and _code(response) == IN_FLIGHT


def default_headers(api_key: str) -> dict[str, str]:
    key = api_key.strip()  # a key that was read from a file ends with a line break
    if not re.fullmatch(r"[!-~]+", key):
        raise ValueError("api_key must be a key of kmapp, not the placeholder of an example.")
    return {"Authorization": f"Bearer {key}", "User-Agent": USER_AGENT}


def request_arguments(call: Call[Any]) -> dict[str, Any]:
    """Return the arguments of httpx; the idempotency key is the same for all attempts.

    Each POST has a key. Endpoints that only read ignore it.
    """
    headers = {"Idempotency-Key": str(uuid.uuid4())} if call.method == "POST" else {}
    arguments = {"method": call.method, "url": call.path, "headers": headers}
    if call.body is None:
        return arguments
    headers["Content-Type"] = "application/json"
    return {**arguments, "content": _encode(call.body)}


def _encode(body: Any) -> bytes:
    """Return JSON in UTF-8, or in ASCII if it has half a character, which UTF-8 cannot express.

    The server refuses such a text and names its field.
    """
    try:
        text = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        return text.encode()
    except UnicodeEncodeError:
        return json.dumps(body, allow_nan=False).encode()


def read_response(call: Call[T], response: httpx.Response) -> T:
    """Return what the call makes of the response. Raise the error of an error response."""
    if not response.is_success:
        raise build_error(response.status_code, _body(response), response.headers)
    try:
        data = response.json() if response.content else None
    except ValueError as error:
        raise ServerError(
            f"The response of {response.url} is not JSON. Check the base_url of the client.",
            status=response.status_code,
        ) from error
    return call.read(data)


def _body(response: httpx.Response) -> Any:
    try:
        return response.json()
    except ValueError:
        return None


def _code(response: httpx.Response) -> str:
    body = _body(response)
    return str(body.get("error", "")) if isinstance(body, Mapping) else ""
