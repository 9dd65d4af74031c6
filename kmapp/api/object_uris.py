"""URIs of objects: km://account/scope/kind/id.

The client of Aionis expects its own scheme and gets it; both are accepted.
"""

import re
from contextvars import ContextVar
from dataclasses import dataclass
from uuid import UUID

from rest_framework.request import Request

SCHEME = "km"
AIONIS_SCHEME = "aionis"
DEFAULT_SCOPE = "default"
_URI = re.compile(rf"(?:{SCHEME}|{AIONIS_SCHEME})://([^/]+)/(.+)/([^/]+)/([^/]+)", re.DOTALL)
_scheme: ContextVar[str] = ContextVar("uri_scheme", default=SCHEME)


@dataclass(frozen=True, slots=True)
class ObjectUri:
    """The parts of a URI; the id is not checked."""

    account: str
    scope: str
    kind: str
    object_id: str


def is_from_aionis(request: Request) -> bool:
    """Return whether aionis-sdk sent the request.

    It sends no product name, but is recognised as Python's urllib with a request ID.
    """
    agent = request.headers.get("User-Agent", "")
    return agent.startswith("Python-urllib/") and "X-Request-Id" in request.headers


def choose_scheme(request: Request) -> None:
    """Choose the scheme of the URIs in the response."""
    _scheme.set(AIONIS_SCHEME if is_from_aionis(request) else SCHEME)


def object_uri(object_id: UUID, kind: str, account_id: UUID, scope: str = "") -> str:
    return f"{_scheme.get()}://{account_id}/{scope or DEFAULT_SCOPE}/{kind}/{object_id}"


def parse_uri(uri: str) -> ObjectUri | None:
    """Return the parts of a URI in either scheme, or None if it is no such URI."""
    match = _URI.fullmatch(uri)
    return match and ObjectUri(*match.groups())
