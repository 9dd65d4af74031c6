"""Fetching a page over one connection to a validated address, bounded in time and size."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from tempfile import TemporaryFile
from typing import BinaryIO
from urllib.parse import urljoin

import httpcore2

from kmapp.security.egress.allowed_urls import (
    UNREADABLE,
    AllowedSites,
    CannotReach,
    validate_address,
)
from kmapp.security.egress.connections import CheckedBackend
from knowledge.fetching.charsets import convert_to_utf8, find_codec

MAX_SECONDS = 30.0  # in all, including redirects
IDLE_SECONDS = 10.0  # between two bytes
MAX_REDIRECTS = 3
MAX_BYTES = 20 * 1024 * 1024
READ_SIZE = 1024 * 1024
CONTENT_TYPES = frozenset(
    {"text/html", "application/xhtml+xml", "text/plain", "text/markdown", "application/pdf"}
)
PDF = "application/pdf"
_REDIRECTING = frozenset({301, 302, 303, 307, 308})
_OK = 200
# Compressed pages are not accepted, because a few bytes could unpack to very many.
_HEADERS: Mapping[bytes | str, bytes | str] = {
    "User-Agent": "kmapp",
    "Accept": ", ".join(sorted(CONTENT_TYPES)),
    "Accept-Encoding": "identity",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A fetched page on disk, with its address after all redirects.

    A text is in UTF-8 if its charset is known: the header that states it is not stored.
    """

    url: str
    mime: str
    file: BinaryIO
    fetched_at: datetime

    def __iter__(self) -> Iterator[bytes]:
        self.file.seek(0)
        while piece := self.file.read(READ_SIZE):
            yield piece


@contextmanager
def fetch_page(url: str, allowed: AllowedSites) -> Iterator[Page]:
    """Fetch the page at an address for the duration of the context, or raise CannotReach."""
    with TemporaryFile() as file:
        yield asyncio.run(_fetch_within_time(url, allowed, file))


async def _fetch_within_time(url: str, allowed: AllowedSites, file: BinaryIO) -> Page:
    try:
        async with asyncio.timeout(MAX_SECONDS):
            return await _follow_redirects(url, allowed, file)
    except (TimeoutError, httpcore2.TimeoutException) as error:
        raise CannotReach(f"The site did not respond within {MAX_SECONDS:.0f} seconds.") from error
    except (OSError, httpcore2.NetworkError, httpcore2.ProtocolError) as error:
        raise CannotReach("The site could not be reached.") from error


async def _follow_redirects(url: str, allowed: AllowedSites, file: BinaryIO) -> Page:
    quiet = dict.fromkeys(("connect", "read", "write", "pool"), IDLE_SECONDS)
    async with httpcore2.AsyncConnectionPool(network_backend=CheckedBackend(allowed)) as pool:
        for _ in range(MAX_REDIRECTS + 1):
            url = validate_address(url, allowed)
            stream = pool.stream("GET", url, headers=_HEADERS, extensions={"timeout": quiet})
            async with stream as response:
                headers = {
                    name.decode("latin-1").lower(): value.decode("latin-1")
                    for name, value in response.headers
                }
                if response.status not in _REDIRECTING:
                    return await _store_page(url, response, headers, file)
            try:
                url = urljoin(url, _decode_location(headers.get("location", "")))
            except ValueError as error:
                raise CannotReach(UNREADABLE) from error
    raise CannotReach(f"The page redirects more than {MAX_REDIRECTS} times.")


def _decode_location(location: str) -> str:
    """Return the address of a redirect, which many servers send in UTF-8, as browsers read it."""
    try:
        return location.encode("latin-1").decode()
    except UnicodeDecodeError:
        return location


async def _store_page(
    url: str, response: httpcore2.Response, headers: dict[str, str], file: BinaryIO
) -> Page:
    if response.status != _OK:
        raise CannotReach(f"The site returned HTTP status {response.status}.")
    content_type = headers.get("content-type", "")
    mime = content_type.partition(";")[0].strip().lower()
    if mime not in CONTENT_TYPES or headers.get("content-encoding", "identity") != "identity":
        raise CannotReach("The site did not return a readable page.")
    size = 0
    async for piece in response.aiter_stream():
        size += len(piece)
        if size > MAX_BYTES:
            raise CannotReach(f"The page is larger than {MAX_BYTES:,} bytes.")
        file.write(piece)
    if mime != PDF and (codec := find_codec(content_type)):
        _convert_file(file, codec)
    return Page(url=url, mime=mime, file=file, fetched_at=datetime.now(UTC))


def _convert_file(file: BinaryIO, codec: str) -> None:
    file.seek(0)
    data = file.read()
    converted = convert_to_utf8(data, codec)
    if converted is not data:
        file.seek(0)
        file.truncate()
        file.write(converted)
