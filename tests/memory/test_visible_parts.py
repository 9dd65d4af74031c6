"""Searches list visible memories in disjoint parts that together contain all of them."""

from itertools import product
from typing import Any

import pytest

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.search import scan_method_choice
from kmapp.search.allowed_objects import AllowedObjects, Collection
from kmapp.search.scan_method_choice import count_allowed
from memory.models import MemoryEntry, Viewer
from memory.models.entries import COLLECTION, OWNER_IDS, list_reader_groups
from memory.models.entry_input import NewEntry
from memory.retrieval import search, viewer_filters
from memory.retrieval.search import SearchRequest, build_allowed_objects, filter_entries
from tests import makers

NAMES = ("user_id", "agent_id", "run_id")
ALL_NAMES = [
    [name for name, is_used in zip(OWNER_IDS, each, strict=True) if is_used]
    for each in product((False, True), repeat=len(OWNER_IDS))
]


def test_parts_are_disjoint_and_complete(acme: Account) -> None:
    owners: list[dict[str, Any]] = [
        {name: value for name, value in zip(NAMES, values, strict=True) if value}
        for values in product(("", "ann", "bob"), ("", "shop"), ("", "run-1"))
    ]
    for owner in owners:
        for visibility in ("", MemoryEntry.Visibility.ACCOUNT):  # the default of the owner
            makers.write(acme, NewEntry(text=f"{owner}", visibility=visibility, **owner))
    sizes = set()
    with acting(acme):
        rows = MemoryEntry.objects.of(acme)
        for owner in owners:
            viewer = Viewer(**owner)
            visible = set(rows.visible_to(viewer).values_list("pk", flat=True))
            parts = [list(part.values_list("pk", flat=True)) for part in rows.visible_parts(viewer)]
            listed = [pk for part in parts for pk in part]
            assert len(listed) == len(set(listed)), owner
            assert set(listed) == visible, owner
            sizes.add(len(visible))
    assert len(sizes) > 3, "the viewers see different memories"


@pytest.mark.parametrize("names", ALL_NAMES, ids=lambda names: ",".join(names) or "none")
def test_compiled_filter_is_that_of_the_viewer(acme: Account, names: list[str]) -> None:
    """Values that occur more than once, in the condition or as an id, stay in their places."""
    for values in (("ann", "shop", "web", "run-1"), ("active", "account", "active", "account")):
        viewer = Viewer(**dict(zip(names, values, strict=False)))
        request = SearchRequest(query="tea", viewer=viewer)
        allowed = build_allowed_objects(acme.pk, request)
        expected = AllowedObjects.from_queryset(filter_entries(acme.pk, request))
        assert (allowed.sql, list(allowed.parameters)) == (expected.sql, list(expected.parameters))
        rows = MemoryEntry.objects.of(acme).current()
        parts = [AllowedObjects.from_queryset(each) for each in rows.visible_parts(viewer)]
        assert allowed.as_list == AllowedObjects.from_parts(parts)
        assert allowed.reader_groups == list_reader_groups(viewer)


def test_filter_is_compiled_once_for_all_viewers(acme: Account, rival: Account) -> None:
    compiled = viewer_filters._compile_filter  # noqa: SLF001
    compiled.cache_clear()
    for account, user in ((acme, "ann"), (acme, "bob"), (rival, "ann")):
        request = SearchRequest(query="tea", viewer=Viewer(user_id=user))
        assert user in build_allowed_objects(account.pk, request).parameters
        assert account.pk in build_allowed_objects(account.pk, request).parameters
    assert compiled.cache_info().misses == 1


def test_caches_hold_no_long_conditions(acme: Account) -> None:
    tags = tuple("x" * 90 + str(number) for number in range(200))
    before = search._build_cached_filter.cache_info().currsize  # noqa: SLF001
    build_allowed_objects(acme.pk, SearchRequest(query="tea", tags=tags))
    assert search._build_cached_filter.cache_info().currsize == before  # noqa: SLF001
    scan_method_choice.clear_query_caches()
    with acting(acme):
        rows = MemoryEntry.objects.of(acme).filter(client_id__in=tags)
        collection = Collection(account_id=acme.pk, name=COLLECTION)
        assert count_allowed(collection, AllowedObjects.from_queryset(rows)) == 0
    [key] = scan_method_choice.ALLOWED_COUNT_CACHE._entries  # noqa: SLF001
    assert len(repr(key)) < 1_000
