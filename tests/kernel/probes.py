"""How every route is asked about what belongs to another account."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.urls import URLPattern, URLResolver, get_resolver

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
REFUSED = {403, 404}
NOT_A_METHOD = 405
# What differs from one answer to the next, whoever asks: form tokens, request ids, the ids sent.
CHANGING = re.compile(
    r"\b[A-Za-z0-9]{64}\b|[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}|\bc0\b|name-of-[a-z]+"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """One id of each sort."""

    account: UUID
    slug: str
    entry: UUID
    proposal: UUID
    client_id: str
    edge: UUID
    key: UUID
    member: UUID
    delivery: UUID
    commit: UUID
    event: UUID


Said = Mapping[str, Any]


def _nothing(names: Names) -> Sequence[Said]:
    return [{}]


def _which(**more: Any) -> Callable[[Names], Sequence[Said]]:
    return lambda names: [{"id": str(names.entry), **more}, {"client_id": names.client_id, **more}]


def _form(**said: str) -> Callable[[Names], Sequence[Said]]:
    return lambda names: [said]


@dataclass(frozen=True, slots=True)
class Probe:
    """Whose id stands in the address, and what is said to it: a query, a form or a body."""

    pk: str = ""
    said: Callable[[Names], Sequence[Said]] = _nothing
    refused: frozenset[int] = frozenset(REFUSED)


def _edges(names: Names) -> Sequence[Said]:
    """A memory of our own, joined to one of theirs; and only theirs."""
    mine, theirs = {"client_id": "name-of-mine"}, {"id": str(names.entry)}
    node = {**mine, "text": "Mine."}
    ends = [(mine, theirs), (theirs, mine), (mine, {"client_id": names.client_id})]
    return [
        {"nodes": [node], "edges": [{"type": "related_to", "src": src, "dst": dst}]}
        for src, dst in ends
    ]


V1 = {"version": "1"}
PROBES = {
    "api:event": Probe("event"),
    # The end of an edge is part of what is written: an unknown one makes the whole write invalid.
    "memory:api_write": Probe(said=_edges, refused=frozenset({400})),
    "memory:api_get": Probe(said=_which()),
    "memory:api_update": Probe(said=_which(text="Mine now.", reason="Because.")),
    "memory:api_forget": Probe(said=_which(reason="Because.")),
    "memory:api_history": Probe("entry"),
    "memory:entry": Probe("entry"),
    "memory:edit": Probe("entry", _form(**V1, content="Mine now.", title="", kind="fact")),
    "memory:pin": Probe("entry", _form(**V1)),
    "memory:unpin": Probe("entry", _form(**V1)),
    "memory:forget": Probe("entry", _form(**V1, reason="Because.")),
    "memory:revert": Probe("entry", _form(**V1, to="1")),
    "memory:undo": Probe("entry", _form(**V1)),
    "memory:review": Probe(said=lambda names: [{"at": str(names.proposal)}]),
    "memory:approve": Probe("proposal", _form(**V1)),
    "memory:reject": Probe("proposal", _form(**V1, reason="Because.")),
    "memory:review_pin": Probe("proposal", _form(**V1, pinned="yes")),
    "memory:review_edit": Probe(
        "proposal", _form(**V1, content="Mine now.", title="", kind="fact", then="approve")
    ),
    "web:account": Probe(said=lambda names: [{"account": str(names.account)}]),
    "web:key_rotate": Probe("key"),
    "web:key_revoke": Probe("key"),
    "web:member_role": Probe("member", _form(role="admin")),
    "web:member_remove": Probe("member"),
    "web:replay": Probe(said=lambda names: [{"delivery": str(names.delivery)}]),
    "web:delivery": Probe("delivery"),
    "web:commit": Probe("commit"),
}
# An id may be chosen for what is written: see the last tests.
CHOSEN = {"memory:api_store"}
WITHOUT_IDS = {
    "api:liveness",
    "api:metrics",
    "api:health",
    "api:version",
    "api:schema",
    "api:docs",
    "memory:api_search",
    "memory:api_commits",
    "memory:api_verify",
    "memory:entries",
    "memory:summary",
    "web:home",
    "web:sign_in",
    "web:sign_out",
    "web:password",
    "web:preferences",
    "web:keys",
    "web:key_issue",
    "web:members",
    "web:member_add",
    "web:policy",
    "web:operations",
    "web:operations_summary",
    "web:ledger",
    "web:ledger_verify",
    "web:ledger_summary",
}


def named(resolver: URLResolver, path: str = "", space: str = "") -> Iterator[tuple[str, str]]:
    """The name and the address of every route but those of the stock admin."""
    for each in resolver.url_patterns:
        here = path + str(each.pattern)
        if isinstance(each, URLPattern):
            yield f"{space}:{each.name}", here
        elif each.app_name != "admin":
            yield from named(each, here, each.namespace or space)


ROUTES = dict(named(get_resolver()))
