"""Nodes of a memory batch that belong to another app, such as rules.

An agent writes memories and rules in one request. The app that handles the request finds the app of
each node here, which writes its nodes into the same commit. Feedback on a node works likewise.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from kmapp.accounts.actors import Actor
from kmapp.accounts.models import Account
from kmapp.accounts.scopes import Scope
from kmapp.ledger.actions import Recording


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignNode:
    """A node of another app, and its place in the batch."""

    kind: str
    position: int
    value: Any  # the result of the kind's `read`


@dataclass(frozen=True, slots=True, kw_only=True)
class HostedNode:
    """A node as its own app stored it. `fresh`: it did not exist before."""

    id: UUID
    client_id: str | None
    kind: str
    status: str
    written_in: UUID
    fresh: bool


Write = Callable[[Account, str, Sequence[Any], Recording], Sequence[HostedNode]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rated:
    """The answer of the kind's app to feedback. `fresh`: the feedback is new."""

    answer: Mapping[str, Any]
    fresh: bool


Rate = Callable[[UUID, Actor, Any], Rated]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of node. Feedback has its id in the field `named`; `rate` is called in `acting`."""

    name: str
    scope: Scope  # required to write it
    read: Callable[[Mapping[str, Any]], Any]
    write: Write
    named: str
    rate: Rate


_kinds: dict[str, Kind] = {}


def register(kind: Kind) -> None:
    _kinds[kind.name] = kind


def kind_of(node: Any) -> Kind | None:
    """Return the kind of a node in a request, or None if it is the handling app's own."""
    if not isinstance(node, Mapping):
        return None
    name = node.get("kind") or node.get("type")
    return _kinds.get(name) if isinstance(name, str) else None


def find_rated_kind(value: Any) -> Kind | None:
    """Return the kind of the node in feedback, or None if it is the handling app's own."""
    if not isinstance(value, Mapping):
        return None
    return next((kind for kind in _kinds.values() if value.get(kind.named) is not None), None)


def write_all(
    guests: Sequence[ForeignNode], account: Account, scope: str, commit: Recording
) -> dict[int, HostedNode]:
    """Write all guests into this commit. Return the nodes by place."""
    written: dict[int, HostedNode] = {}
    for name in dict.fromkeys(guest.kind for guest in guests):
        mine = [guest for guest in guests if guest.kind == name]
        results = _kinds[name].write(account, scope, [guest.value for guest in mine], commit)
        written |= {guest.position: node for guest, node in zip(mine, results, strict=True)}
    return written


def scopes_of(guests: Sequence[ForeignNode]) -> set[Scope]:
    return {_kinds[guest.kind].scope for guest in guests}
