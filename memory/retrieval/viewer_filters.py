"""The condition on the memories that a viewer sees, compiled once for each set of ids.

Django takes longer to compile it than PostgreSQL to find a memory with it, and most searches have
no other condition. Only the text of the SQL is cached; rows are read each time.
"""

from dataclasses import replace
from functools import lru_cache
from uuid import UUID

from kmapp.search.allowed_objects import AllowedObjects
from memory.models import MemoryEntry, Viewer
from memory.models.entries import OWNER_IDS, list_reader_groups

ACCOUNT = UUID(int=0)  # the place of the account in a compiled condition
# The places of the viewer's ids. No stored text contains the first character.
PLACES = {name: f"\0{name}" for name in OWNER_IDS}


def build_viewer_filter(account_id: UUID, viewer: Viewer) -> AllowedObjects:
    """Return the condition on current memories that are visible to a viewer without a scope."""
    ids = {name: value for name in OWNER_IDS if (value := getattr(viewer, name))}
    values = {ACCOUNT: account_id} | {PLACES[name]: value for name, value in ids.items()}
    allowed = _compile_filter(tuple(ids)).replace_parameters(values)
    return replace(allowed, reader_groups=list_reader_groups(viewer))


@lru_cache(maxsize=1 << len(OWNER_IDS))
def _compile_filter(names: tuple[str, ...]) -> AllowedObjects:
    """Return the condition for a viewer with these ids, with places instead of values."""
    viewer = Viewer(**{name: PLACES[name] for name in names})
    rows = MemoryEntry.objects.of(ACCOUNT).current()
    parts = [AllowedObjects.from_queryset(each) for each in rows.visible_parts(viewer)]
    return replace(
        AllowedObjects.from_queryset(rows.visible_to(viewer)),
        as_list=AllowedObjects.from_parts(parts),
    )
