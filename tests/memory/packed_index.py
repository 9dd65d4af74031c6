"""A search index whose documents and codes are all packed, as searches by reader group need it."""

from collections.abc import Sequence

from kmapp.accounts.models import Account
from kmapp.search import scan_method_choice
from kmapp.search.posting_packing import pack_recent
from kmapp.search.vector_code_packing import pack_codes
from memory.models.entries import COLLECTION
from tests import makers

SUBJECTS = [
    *("Green tea", "Rain", "The night train to Basel", "Tax returns", "Cello lessons", "Cats"),
    *("Vaccinations", "A leaking roof", "Chess", "Bread", "Passports", "The marathon"),
]


def create_packed_account() -> Account:
    """Create an account whose memories are of several reader groups and all packed."""
    account = makers.account("Acme")
    write_packed_memories(account, SUBJECTS)
    return account


def write_packed_memories(account: Account, subjects: Sequence[str]) -> None:
    for user in ("ann", "bob", ""):
        for subject in subjects:
            makers.write(account, f"{subject}: what matters to {user or 'all'}.", user_id=user)
    makers.settle()
    pack_all(account)


def pack_all(account: Account) -> None:
    pack_recent(account.pk, COLLECTION, at_least=1)
    pack_codes(account.pk, COLLECTION)
    scan_method_choice.clear_query_caches()
