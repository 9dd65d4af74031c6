"""manage.py context_scenario: token savings of placeholders, measured over a running API."""

import json
from argparse import ArgumentTypeError
from collections.abc import Mapping
from http import HTTPStatus
from http.client import HTTPConnection, HTTPSConnection
from typing import Any
from urllib.parse import SplitResult, urlencode, urlsplit
from uuid import uuid4

from django.core.management.base import BaseCommand, CommandError, CommandParser

from context.benchmarks.placeholder_scenario import Client, render_table, run_scenario

SECONDS = 60  # timeout of a request


def parse_url(text: str) -> SplitResult:
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ArgumentTypeError(
            f"{text!r} is not a valid URL. Use a form such as http://127.0.0.1:8000."
        )
    return parts


def create_client(base: SplitResult, key: str) -> Client:
    kind = HTTPSConnection if base.scheme == "https" else HTTPConnection
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}

    def send(method: str, path: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        query = f"?{urlencode(params)}" if method == "GET" and params else ""
        body = json.dumps(params) if method == "POST" else None
        connection = kind(str(base.hostname), base.port, timeout=SECONDS)
        try:
            connection.request(method, f"{base.path.rstrip('/')}/v1/{path}{query}", body, headers)
            response = connection.getresponse()
            content: Mapping[str, Any] = json.load(response)
        finally:
            connection.close()
        if response.status >= HTTPStatus.BAD_REQUEST:
            raise CommandError(f"{method} {path}: {response.status} {content.get('message')}")
        return content

    return send


class Command(BaseCommand):
    help = (
        "Run ten turns with a tool result of 50,000 characters each against an API and "
        "report their cost in tokens: with the full history, with placeholders, and with one "
        "load per turn. The results stay until they are erased."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--url", type=parse_url, default=urlsplit("http://127.0.0.1:8000"))
        parser.add_argument(
            "--key", required=True, help="API key with the scopes context:read and context:write"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        send = create_client(options["url"], options["key"])
        self.stdout.write(render_table(run_scenario(send, f"scenario-{uuid4()}")))
