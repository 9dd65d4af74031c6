"""Assignment of conversations to variants, in an A/B test. Pure."""

from collections.abc import Mapping
from hashlib import sha256
from uuid import UUID

PERCENT = 100


def assign_variant(account_id: UUID, conversation_id: str, shares: Mapping[str, int]) -> str | None:
    """Return a variant by the shares in percent; None without shares or conversation.

    A conversation gets the same variant in every process until the shares change.
    """
    if not conversation_id or not shares:
        return None
    digest = sha256(f"{account_id}:{conversation_id}".encode()).digest()
    position = int.from_bytes(digest[:8]) % 10_000 / (10_000 / PERCENT)
    names = sorted(shares)
    for name in names:
        position -= shares[name]
        if position < 0:
            return name
    return names[-1]
