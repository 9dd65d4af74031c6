"""Token counts, exact for o200k_base and offline. Pure.

Counts are remembered by content, for a conversation is counted again with every call of it.
"""

from collections.abc import Callable
from functools import cache

PIECE = 400_000  # characters; the encoder refuses a million at a time
MOST = 200_000  # counts that are remembered

# By the hash that Python keys anew in each process, and the length: no text is kept for its count,
# a text that is counted twice is hashed once, and nobody can make two texts meet.
_counts: dict[tuple[int, int], int] = {}


def count(text: str) -> int:
    if not text:
        return 0
    key = hash(text), len(text)
    cached = _counts.get(key)
    if cached is None:
        if len(_counts) >= MOST:
            _counts.clear()  # rare, and everything in it is counted again in no time
        cached = _counts[key] = _counted(text)
    return cached


def forget() -> None:
    _counts.clear()


def _counted(text: str) -> int:
    encode = _encoder()
    return sum(len(encode(text[at : at + PIECE])) for at in range(0, len(text), PIECE))


@cache
def _encoder() -> Callable[[str], list[int]]:
    """Return the encoder, loaded on first use because its tables take 148 MB."""
    from bpe_openai import get_encoding  # noqa: PLC0415

    encode: Callable[[str], list[int]] = get_encoding("o200k_base").encode_ordinary
    return encode
