"""Which variant a conversation gets, where the account tries several. Pure.

The same conversation always gets the same one, whichever process asks, until shares change.
"""

from collections.abc import Mapping
from hashlib import sha256
from uuid import UUID

WHOLE = 100  # percent


def assigned(account_id: UUID, conversation_id: str, shares: Mapping[str, int]) -> str | None:
    """By shares in percent, which add up to a hundred; None where there is nothing to go by."""
    if not conversation_id or not shares:
        return None
    digest = sha256(f"{account_id}:{conversation_id}".encode()).digest()
    at = int.from_bytes(digest[:8]) % 10_000 / (10_000 / WHOLE)
    names = sorted(shares)
    for name in names:
        at -= shares[name]
        if at < 0:
            return name
    return names[-1]
