"""Celery tasks of search."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from uuid import UUID

from celery import shared_task

from kmapp.accounts.for_each_account import run_for_each_account
from kmapp.search.posting_packing import list_unpacked, pack_recent, purge_removed
from kmapp.search.vector_code_packing import MIN_CODED, list_uncoded, pack_codes


@shared_task
def pack_postings() -> int:
    """Pack the recent documents of all collections that have many, and return their number."""
    return _pack_collections(list_unpacked(), _purge_and_pack)


@shared_task
def pack_vector_codes() -> int:
    """Pack the codes of all collections where many documents wait, and return their number."""
    return _pack_collections(list_uncoded(MIN_CODED), pack_codes)


def _purge_and_pack(account_id: UUID, collection: str) -> int:
    purge_removed(account_id, collection)
    return pack_recent(account_id, collection)


def _pack_collections(rows: Iterable[tuple[UUID, str]], pack: Callable[[UUID, str], int]) -> int:
    """Pack each collection of each account, and return the sum of the results."""
    collections = defaultdict[UUID, list[str]](list)
    for account_id, collection in rows:
        collections[account_id].append(collection)

    def pack_account(account_id: UUID) -> int:
        return sum(pack(account_id, collection) for collection in collections[account_id])

    return sum(run_for_each_account(pack_account, collections))
