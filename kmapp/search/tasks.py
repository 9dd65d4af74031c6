"""Celery tasks of search."""

from uuid import UUID

from celery import shared_task

from kmapp.accounts.sweep import sweep
from kmapp.search.code_packing import list_uncoded, pack_codes
from kmapp.search.packing import MIN_PACKED, list_unpacked, pack_recent, purge_removed


@shared_task
def pack_postings() -> int:
    """Pack the recent documents of all collections that have many, and return their number."""
    collections: dict[UUID, list[str]] = {}
    for account_id, collection in list_unpacked():
        collections.setdefault(account_id, []).append(collection)

    def pack(account_id: UUID) -> int:
        for collection in collections[account_id]:
            purge_removed(account_id, collection)
        return sum(pack_recent(account_id, collection) for collection in collections[account_id])

    return sum(sweep(pack, collections))


@shared_task
def pack_vector_codes() -> int:
    """Pack the codes of all collections where many documents wait, and return their number."""
    collections: dict[UUID, list[str]] = {}
    for account_id, collection in list_uncoded(MIN_PACKED):
        collections.setdefault(account_id, []).append(collection)

    def pack(account_id: UUID) -> int:
        return sum(pack_codes(account_id, collection) for collection in collections[account_id])

    return sum(sweep(pack, collections))
