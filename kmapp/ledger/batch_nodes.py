"""Nodes of a memory batch that belong to another app, such as rules.

An agent writes memories and rules in one request. The app that answers it asks here whose a node
is, and lets that app write its part into the same commit. Feedback on a node goes the same way.
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
class Guest:
    """A node that another app keeps, and its place in the batch."""

    kind: str
    position: int
    value: Any  # what the kind's `read` made of it


@dataclass(frozen=True, slots=True, kw_only=True)
class HostedNode:
    """A node as its own app has it now. `fresh`: it was not there before."""

    id: UUID
    client_id: str | None
    kind: str
    status: str
    written_in: UUID
    fresh: bool


Write = Callable[[Account, str, Sequence[Any], Recording], Sequence[HostedNode]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rated:
    """What the kind's app answers to feedback. `fresh`: it was not said before."""

    answer: Mapping[str, Any]
    fresh: bool


Rate = Callable[[UUID, Actor, Any], Rated]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind of node: the scope that its writer needs, how it is read, written and rated.

    Feedback on such a node names it in the field `named`. `rate` is called inside `acting`.
    """

    name: str
    scope: Scope
    read: Callable[[Mapping[str, Any]], Any]
    write: Write
    named: str
    rate: Rate


_kinds: dict[str, Kind] = {}


def register(kind: Kind) -> None:
    """Say that an app keeps nodes of this kind."""
    _kinds[kind.name] = kind


def kind_of(node: Any) -> Kind | None:
    """Whose a node is, as it was sent; None: its taker's own."""
    if not isinstance(node, Mapping):
        return None
    name = node.get("kind") or node.get("type")
    return _kinds.get(name) if isinstance(name, str) else None


def rated_by(value: Any) -> Kind | None:
    """Whose the node is that feedback names; None: its taker's own."""
    if not isinstance(value, Mapping):
        return None
    return next((kind for kind in _kinds.values() if value.get(kind.named) is not None), None)


def write_all(
    guests: Sequence[Guest], account: Account, scope: str, commit: Recording
) -> dict[int, HostedNode]:
    """Write every guest into this commit; by their places."""
    written: dict[int, HostedNode] = {}
    for name in dict.fromkeys(guest.kind for guest in guests):
        mine = [guest for guest in guests if guest.kind == name]
        results = _kinds[name].write(account, scope, [guest.value for guest in mine], commit)
        written |= {guest.position: node for guest, node in zip(mine, results, strict=True)}
    return written


def scopes_of(guests: Sequence[Guest]) -> set[Scope]:
    return {_kinds[guest.kind].scope for guest in guests}
