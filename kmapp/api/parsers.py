"""Request parsers of the API."""

from collections.abc import Mapping
from typing import IO, Any

from rest_framework.parsers import BaseParser

from kmapp.api.strict_json import RefusedJSON, parse
from kmapp.errors import Invalid


class StrictJSONParser(BaseParser):
    """JSON that the database can store; anything else is a 400 with the path."""

    media_type = "application/json"

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        return parse_body(stream.read())


def parse_body(body: bytes) -> dict[str, Any]:
    """Return the JSON object in a body, or raise Invalid."""
    try:
        return parse(body)
    except RefusedJSON as refused:
        message = f"The body {refused.reason}." if not refused.path else f"{refused}."
        issue = {"path": refused.path, "message": refused.reason}
        raise Invalid(message, issues=[issue]) from None
