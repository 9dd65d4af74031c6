"""Connections to validated addresses only."""

import asyncio
import socket
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import httpcore2

from kmapp.security.egress.allowed_urls import NOT_PUBLIC, AllowedSites, CannotReach, is_public


class CheckedBackend(httpcore2.AsyncNetworkBackend):
    """Network backend that resolves a name once and connects only if all addresses are allowed.

    The Host header and the certificate check still use the name.
    """

    def __init__(self, allowed: AllowedSites) -> None:
        self._allowed = allowed
        self._network = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        addresses = await _resolve_name(host, port)
        if not self._allowed.allows_private(host, port) and not all(map(is_public, addresses)):
            raise CannotReach(NOT_PUBLIC)
        failed: httpcore2.ConnectError | None = None
        for address in addresses:
            try:
                return await self._network.connect_tcp(
                    address, port, timeout, local_address, socket_options
                )
            except httpcore2.ConnectError as error:
                failed = error
        raise failed or httpcore2.ConnectError(f"{host} has no address.")

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


async def _resolve_name(host: str, port: int) -> list[str]:
    """Resolve a name in a thread of its own.

    `asyncio.run` waits for the threads of the loop even after a timeout, and a slow resolver may
    take much longer.
    """
    resolver = ThreadPoolExecutor(max_workers=1)
    try:
        resolve = partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
        infos = await asyncio.get_running_loop().run_in_executor(resolver, resolve)
    finally:
        resolver.shutdown(wait=False)
    return list(dict.fromkeys(str(info[4][0]) for info in infos))
