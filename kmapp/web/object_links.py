"""Registry of objects that texts can link to by id, as in [[memory:ID]].

The app that owns a kind of object registers how its titles and URLs are loaded.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectLink:
    title: str
    url: str


# Called inside `acting` with the account and ids; ids without an object are left out.
LoadLinks = Callable[[UUID, Collection[UUID]], Mapping[UUID, ObjectLink]]
_loaders: dict[str, LoadLinks] = {}


def register_links(kind: str) -> Callable[[LoadLinks], LoadLinks]:
    def register(load: LoadLinks) -> LoadLinks:
        _loaders[kind] = load
        return load

    return register


def resolve_links(
    account_id: UUID, objects: Iterable[tuple[str, UUID]]
) -> dict[tuple[str, UUID], ObjectLink]:
    """Return the links of objects, given as kind and id. Inside `acting`."""
    ids: dict[str, set[UUID]] = defaultdict(set)
    for kind, pk in objects:
        ids[kind].add(pk)
    return {
        (kind, pk): link
        for kind in ids.keys() & _loaders.keys()
        for pk, link in _loaders[kind](account_id, ids[kind]).items()
    }
