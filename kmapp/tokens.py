"""Tokens: how much of a context window a text takes. Exact for o200k_base, offline. Pure.

Counts are remembered by content, for a conversation is counted again with every call of it.
"""

import hashlib
from collections.abc import Callable
from functools import cache

PIECE = 400_000  # characters; the encoder refuses a million at a time
SHORT = 64  # characters up to which a text is its own key
MOST = 200_000  # counts that are remembered

_known: dict[str | bytes, int] = {}


def count(text: str) -> int:
    """How many tokens the text is."""
    if not text:
        return 0
    key = text if len(text) <= SHORT else hashlib.blake2b(text.encode(), digest_size=16).digest()
    known = _known.get(key)
    if known is None:
        if len(_known) >= MOST:
            _known.clear()  # rare, and everything in it is counted again in no time
        known = _known[key] = _counted(text)
    return known


def forget() -> None:
    """As in a process that has counted nothing yet."""
    _known.clear()


def _counted(text: str) -> int:
    encode = _encoder()
    return sum(len(encode(text[at : at + PIECE])) for at in range(0, len(text), PIECE))


@cache
def _encoder() -> Callable[[str], list[int]]:
    """Loaded on first use: its tables take 148 MB of a process that never counts."""
    from bpe_openai import get_encoding  # noqa: PLC0415

    encode: Callable[[str], list[int]] = get_encoding("o200k_base").encode_ordinary
    return encode
