"""Registry of objects that texts can link to by id, as in [[memory:ID]].

The app that owns a kind of object registers how its titles and URLs are loaded.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from uuid import UUID

from kmapp.database.ids import parse_uuid


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectLink:
    title: str
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectText:
    """The title and text of a new document about an object."""

    title: str
    text: str
    warning: str = ""  # shown to the person before the document is saved


# Called inside `acting` with the account and ids; ids without an object are left out.
LoadLinks = Callable[[UUID, Collection[UUID]], Mapping[UUID, ObjectLink]]
LoadText = Callable[[UUID, UUID], ObjectText | None]
_loaders: dict[str, LoadLinks] = {}
_text_loaders: dict[str, LoadText] = {}


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


def register_text(kind: str) -> Callable[[LoadText], LoadText]:
    def register(load: LoadText) -> LoadText:
        _text_loaders[kind] = load
        return load

    return register


def find_object_text(account_id: UUID, reference: str) -> ObjectText | None:
    """Return the text for a document about an object, given as kind:id. Inside `acting`."""
    kind, _colon, name = reference.partition(":")
    pk = parse_uuid(name)
    return _text_loaders[kind](account_id, pk) if pk and kind in _text_loaders else None
