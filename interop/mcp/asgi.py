"""ASGI entry point of the MCP server: `uvicorn interop.mcp.asgi:application`."""

import os

import django
from sse_starlette.sse import AppStatus

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kmapp.settings")
django.setup()

from interop.mcp.http_application import application as build_application  # noqa: E402 - needs the apps
from kmapp.runtime import tracing  # noqa: E402
from kmapp.runtime.readiness_file import announce_ready  # noqa: E402

application = build_application()
# A server that stops completes its calls; the library would cut their streams.
AppStatus.enable_automatic_graceful_drain = False
tracing.start("mcp")
announce_ready()
