"""manage.py context_scenario: what placeholders save, measured against an API that runs."""

import json
from argparse import ArgumentTypeError
from collections.abc import Mapping
from http import HTTPStatus
from http.client import HTTPConnection, HTTPSConnection
from typing import Any
from urllib.parse import SplitResult, urlencode, urlsplit
from uuid import uuid4

from django.core.management.base import BaseCommand, CommandError, CommandParser

from context.benchmarks.placeholder_scenario import Ask, run, table

SECONDS = 60  # that an answer may take


def address(text: str) -> SplitResult:
    """Such as http://127.0.0.1:8000."""
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ArgumentTypeError(f"{text!r}: write an address such as http://127.0.0.1:8000.")
    return parts


def asking(base: SplitResult, key: str) -> Ask:
    """How the scenario asks the API at this address."""
    kind = HTTPSConnection if base.scheme == "https" else HTTPConnection
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}

    def ask(method: str, path: str, said: Mapping[str, Any]) -> Mapping[str, Any]:
        query = f"?{urlencode(said)}" if method == "GET" and said else ""
        body = json.dumps(said) if method == "POST" else None
        connection = kind(str(base.hostname), base.port, timeout=SECONDS)
        try:
            connection.request(method, f"{base.path.rstrip('/')}/v1/{path}{query}", body, headers)
            answer = connection.getresponse()
            told: Mapping[str, Any] = json.load(answer)
        finally:
            connection.close()
        if answer.status >= HTTPStatus.BAD_REQUEST:
            raise CommandError(f"{method} {path}: {answer.status} {told.get('message')}")
        return told

    return ask


class Command(BaseCommand):
    help = (
        "Runs ten turns with a tool result of 50,000 characters each against an API, and says what "
        "they cost in tokens: accumulated, as placeholders, with one load a turn. The results stay "
        "until they are erased."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--url", type=address, default=urlsplit("http://127.0.0.1:8000"))
        parser.add_argument("--key", required=True, help="that may read and write context")

    def handle(self, *args: Any, **options: Any) -> None:
        ask = asking(options["url"], options["key"])
        self.stdout.write(table(run(ask, f"scenario-{uuid4()}")))
