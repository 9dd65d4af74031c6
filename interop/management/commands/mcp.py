"""manage.py mcp: the MCP server over stdio, for a client that starts it as its own process."""

from typing import Any

import anyio
from django.core.management.base import BaseCommand, CommandError
from mcp.server.stdio import stdio_server
from rest_framework.exceptions import AuthenticationFailed

from interop.mcp.native_session import NativeSession
from interop.mcp.server import McpServer
from kmapp.runtime import env

KEY = "KMAPP_API_KEY"


class Command(BaseCommand):
    help = f"Serve the agent tools over MCP on standard input and output; the key is in {KEY}."
    requires_system_checks = []

    def handle(self, **_: object) -> None:
        session = NativeSession(env.text(KEY))
        try:
            anyio.run(serve, session)
        except AuthenticationFailed as error:
            raise CommandError(f"{error.detail} Set {KEY} to an API key of kmapp.") from error


async def serve(session: NativeSession) -> None:
    await session.authenticate()
    server = McpServer(lambda _: session).build()
    async with stdio_server() as (read, write):
        options: Any = server.create_initialization_options()
        await server.run(read, write, options)
