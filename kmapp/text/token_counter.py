"""Token counts, exact for o200k_base and offline. Pure.

Counts are cached by content, because a conversation is counted again with every call.
"""

from collections.abc import Callable
from functools import cache

PIECE_LENGTH = 400_000  # characters; the encoder refuses a million at a time
MAX_CACHED = 200_000  # cached counts

# By hash and length, so that no text is stored. Python salts the hash in each process, so that
# collisions cannot be constructed.
_counts: dict[tuple[int, int], int] = {}


def count_tokens(text: str) -> int:
    if not text:
        return 0
    key = hash(text), len(text)
    cached = _counts.get(key)
    if cached is None:
        if len(_counts) >= MAX_CACHED:
            _counts.clear()  # rare, and counting again is fast
        encode = _get_encoder()
        pieces = (text[at : at + PIECE_LENGTH] for at in range(0, len(text), PIECE_LENGTH))
        cached = _counts[key] = sum(len(encode(piece)) for piece in pieces)
    return cached


def clear_cache() -> None:
    _counts.clear()


@cache
def _get_encoder() -> Callable[[str], list[int]]:
    """Return the encoder, loaded on first use because its tables take 148 MB."""
    from bpe_openai import get_encoding  # noqa: PLC0415

    encode: Callable[[str], list[int]] = get_encoding("o200k_base").encode_ordinary
    return encode
