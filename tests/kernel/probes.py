"""Requests that ask each route for rows of another account, and the routes that take no ids."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from tests.kernel.bodies import fill_names
from tests.kernel.names import ObjectIds
from tests.routes import ALL_ROUTES

# POST comes last, because the next page shows its notice.
METHODS = ("GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "POST")
REFUSED = {403, 404}
NOT_A_METHOD = 405
# What differs between equal responses: form tokens, request ids, the ids sent.
CHANGING = re.compile(
    r"\"tokens\":{[^{}]*}|\b[A-Za-z0-9]{64}\b|[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}|\bc0\b|name-of-[a-z]+"
)
Fields = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Probe:
    """The kind of id in the address, the queries, forms or bodies to send, the refusals."""

    pk: str
    sent: Callable[[ObjectIds], Sequence[Fields]]
    refused: frozenset[int]


def read_yaml(name: str) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load(Path(__file__).with_name(name).read_text())
    return content


PROBES = {
    route: Probe(
        fields.get("id", ""),
        partial(fill_names, fields.get("sent", [{}])),
        frozenset(fields.get("refused", REFUSED)),
    )
    for route, fields in read_yaml("probes.yaml").items()
}
WITHOUT_IDS = {
    f"{app}:{name}" for app, names in read_yaml("routes_without_ids.yaml").items() for name in names
}
# The client may choose the id of a new row; the last tests of test_probes cover these.
CHOSEN = {"memory:api_store", "rules:api_rules"}
# The stock admin has its own permissions, protocols of other products are probed in tests/interop,
# and the pages of allauth (without a namespace) concern only the person who is signed in.
ROUTES = {
    each.name: each.path
    for each in ALL_ROUTES
    if not each.name.startswith(("admin:", "interop:", ":"))
}
