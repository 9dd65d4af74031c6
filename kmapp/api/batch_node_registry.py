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
    """A node as its own app stored it."""

    id: UUID
    client_id: str | None
    kind: str
    status: str
    written_in: UUID
    is_new: bool  # it did not exist before


WriteNodes = Callable[[Account, str, Sequence[Any], Recording], Sequence[HostedNode]]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFeedbackResult:
    """The response of the kind's app to feedback."""

    response: Mapping[str, Any]
    is_new: bool  # the feedback was not given before


SaveFeedback = Callable[[UUID, Actor, Any], NodeFeedbackResult]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeKind:
    """A kind of node. Feedback has its id in the field `id_field`; `rate` is called in `acting`."""

    name: str
    scope: Scope  # required to write it
    serializer: Callable[[], Any]  # of a node; actions import this module, but not serializers
    read: Callable[[Mapping[str, Any]], Any]
    write: WriteNodes
    id_field: str
    rate: SaveFeedback


_kinds: dict[str, NodeKind] = {}


def register_kind(kind: NodeKind) -> None:
    _kinds[kind.name] = kind


def find_kind(node: Any) -> NodeKind | None:
    """Return the kind of a node in a request, or None if it is the handling app's own."""
    if not isinstance(node, Mapping):
        return None
    name = node.get("kind") or node.get("type")
    return _kinds.get(name) if isinstance(name, str) else None


def find_rated_kind(value: Any) -> NodeKind | None:
    """Return the kind of the node in feedback, or None if it is the handling app's own."""
    if not isinstance(value, Mapping):
        return None
    return next((kind for kind in _kinds.values() if value.get(kind.id_field) is not None), None)


def write_nodes(
    nodes: Sequence[ForeignNode], account: Account, scope: str, commit: Recording
) -> dict[int, HostedNode]:
    """Write the nodes into this commit. Return the stored nodes by position."""
    nodes_by_position: dict[int, HostedNode] = {}
    for name in dict.fromkeys(node.kind for node in nodes):
        nodes_of_kind = [node for node in nodes if node.kind == name]
        results = _kinds[name].write(account, scope, [node.value for node in nodes_of_kind], commit)
        nodes_by_position |= {
            node.position: stored for node, stored in zip(nodes_of_kind, results, strict=True)
        }
    return nodes_by_position


def list_required_scopes(nodes: Sequence[ForeignNode]) -> set[Scope]:
    return {_kinds[node.kind].scope for node in nodes}
