"""Single calls to an OpenAI-compatible endpoint: with a deadline and without retries.

Nothing is retried here: a request has no time for it, and jobs are retried by the outbox, which
survives the process and blocks no worker. So the error contains Retry-After, and nothing sleeps.

An HTTP timeout restarts with each received byte, so a slow provider could hold a request forever.
One event loop per process runs every call under a total deadline; cancelling closes the connection.
"""

import asyncio
import ipaddress
import json
import math
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from http import HTTPStatus
from typing import Any, NoReturn, TypeVar, cast
from urllib.parse import urlsplit

import openai
from openai._constants import RAW_RESPONSE_HEADER
from openai._legacy_response import LegacyAPIResponse

from kmapp.providers.content_policy import is_about_content
from kmapp.providers.errors import Faulted, ProviderError, ProviderTimeout, Refused
from kmapp.runtime import tracing

# 4xx about the content of this request. Others (keys, names, limits, overload) are about the
# provider or its configuration and may succeed later; a 403 is about either.
REFUSALS = (400, 413, 422)
FAULTS = (500, 501)  # 502 to 504 mean that no server responded
MAX_RETRY_AFTER = 300.0

GRACE = 0.25  # seconds after the deadline at which the caller returns even if the loop hangs

# By process, because a forked child must not use its parent's loop. The parent's loop is retained,
# because its garbage collection in the child would close shared sockets.
_loops: dict[int, asyncio.AbstractEventLoop] = {}

T = TypeVar("T")
# A call of one of the client's `with_raw_response` methods. The raw response, because the library
# does not validate what it parses.
Question = Callable[[openai.AsyncOpenAI], Awaitable[LegacyAPIResponse[Any]]]


def post_json(base_url: str, api_key: str, question: Question, seconds: float) -> Any:
    """Return the JSON response of the endpoint, or raise ProviderError."""
    client = _get_client(base_url, api_key, os.getpid())

    async def body() -> bytes:
        return (await question(client)).content

    try:
        answer = run_with_deadline(body(), seconds)
    except TimeoutError as error:
        raise ProviderTimeout(f"No answer from the provider within {seconds:g} s.") from error
    except openai.APIStatusError as error:
        _raise_for(error)
    except openai.OpenAIError as error:
        raise ProviderError(f"Cannot connect to the provider: {error}") from error
    try:
        return json.loads(answer)
    except (ValueError, RecursionError) as error:  # or not UTF-8
        raise Faulted("The provider's answer is not JSON.") from error


def build_post(
    path: str, body: Mapping[str, Any], headers: Mapping[str, str] | None = None
) -> Question:
    async def post(client: openai.AsyncOpenAI) -> LegacyAPIResponse[Any]:
        raw = {RAW_RESPONSE_HEADER: "true", **(headers or {})}
        answer = await client.post(path, cast_to=object, body=body, options={"headers": raw})
        return cast("LegacyAPIResponse[Any]", answer)

    return post


def _raise_for(error: openai.APIStatusError) -> NoReturn:
    message = f"The provider answered {error.status_code}: {error.message[:200]}"
    is_forbidden = error.status_code == HTTPStatus.FORBIDDEN
    if error.status_code in REFUSALS or (is_forbidden and is_about_content(error.body)):
        raise Refused(message) from error
    kind = Faulted if error.status_code in FAULTS else ProviderError
    raise kind(message, retry_after=parse_retry_after(error.response.headers)) from error


def parse_retry_after(headers: Mapping[str, str]) -> float | None:
    value = headers.get("retry-after", "")
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds()
        except (ValueError, TypeError):  # TypeError: a date without a zone
            return None
    if not math.isfinite(seconds) or seconds < 0:
        return None
    return min(seconds, MAX_RETRY_AFTER)


@cache
def _get_client(base_url: str, api_key: str, pid: int) -> openai.AsyncOpenAI:
    """Return this process's client; `pid` is in the key because connections belong to a loop."""
    # On this machine: no proxy, and a new connection for each call, which costs little. A reused
    # one may end at a server that has restarted, and nothing is retried here.
    local: dict[str, Any] = {}
    if _is_loopback(base_url):
        local = {"trust_env": False, "headers": {"Connection": "close"}}
    return openai.AsyncOpenAI(
        base_url=base_url,
        api_key=api_key or "none",  # the library requires one
        max_retries=0,
        timeout=None,  # run_with_deadline is the only clock
        http_client=openai.DefaultAsyncHttpxClient(
            follow_redirects=False, event_hooks={"request": [_add_trace]}, **local
        ),
    )


async def _add_trace(request: Any) -> None:
    """Send the trace of the caller, whose context the event loop has copied."""
    if header := tracing.traceparent():
        request.headers[tracing.HEADER] = header


def _is_loopback(base_url: str) -> bool:
    host = urlsplit(base_url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def run_with_deadline(call: Coroutine[Any, Any, T], seconds: float) -> T:
    """Return the result of a call, or raise TimeoutError after `seconds` in total."""
    future = asyncio.run_coroutine_threadsafe(_run_bounded(call, seconds), _get_loop())
    try:
        return future.result(timeout=seconds + GRACE)
    except BaseException:
        future.cancel()
        raise


async def _run_bounded(call: Coroutine[Any, Any, T], seconds: float) -> T:
    async with asyncio.timeout(seconds):
        return await call


def _get_loop() -> asyncio.AbstractEventLoop:
    pid = os.getpid()
    if pid not in _loops:
        ours = asyncio.new_event_loop()
        if _loops.setdefault(pid, ours) is ours:
            threading.Thread(target=ours.run_forever, name="provider calls", daemon=True).start()
        else:  # another thread was first
            ours.close()
    return _loops[pid]
