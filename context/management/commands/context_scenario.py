"""manage.py context_scenario: token savings of placeholders, measured over a running API."""

from argparse import ArgumentTypeError
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import httpx2
from django.core.management.base import BaseCommand, CommandError, CommandParser

from context.benchmarks.placeholder_scenario import Client, render_table, run_scenario

DEFAULT_URL = "http://127.0.0.1:8000"
SECONDS = 60  # timeout of a request


def check_url(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ArgumentTypeError(f"{text!r} is not a valid URL. Use a form such as {DEFAULT_URL}.")
    return text


def create_client(base_url: str, key: str) -> Client:
    headers = {"Authorization": f"Bearer {key}"}

    def send(method: str, path: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        response = httpx2.request(
            method,
            f"{base_url.rstrip('/')}/v1/{path}",
            params=params if method == "GET" else None,
            json=params if method == "POST" else None,
            headers=headers,
            timeout=SECONDS,
            trust_env=False,
        )
        content: Mapping[str, Any] = response.json()
        if response.is_error:
            raise CommandError(f"{method} {path}: {response.status_code} {content.get('message')}")
        return content

    return send


class Command(BaseCommand):
    help = (
        "Run ten turns with a tool result of 50,000 characters each against an API and "
        "report their cost in tokens: with the full history, with placeholders, and with one "
        "load per turn. The results stay until they are erased."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--url", type=check_url, default=DEFAULT_URL)
        parser.add_argument(
            "--key", required=True, help="API key with the scopes context:read and context:write"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        send = create_client(options["url"], options["key"])
        self.stdout.write(render_table(run_scenario(send, f"scenario-{uuid4()}")))
