"""Batch sizes of embedding calls. Pure.

The embedded server works on one call at a time, so a large call is a long wait for the next one;
a small call wastes it (31 texts a second one by one, 68 by 32).
"""

from collections.abc import Iterator, Sequence

MOST_TEXTS = 32
# A call that times out goes on burning at the server: even on a busy machine, each must be short.
MOST_TOKENS = 2_000


def estimate(text: str) -> int:
    """About how many tokens: errs high, and needs no tokenizer's tables in memory."""
    ascii_letters = len(text.encode("ascii", "ignore"))
    return ascii_letters // 3 + (len(text) - ascii_letters) + 1


def batches(
    texts: Sequence[str], *, most_texts: int = MOST_TEXTS, most_tokens: int = MOST_TOKENS
) -> Iterator[Sequence[str]]:
    """Yield the texts in order, in batches within both limits; a longer text is alone."""
    start = spent = 0
    for position, text in enumerate(texts):
        cost = estimate(text)
        if position > start and (position - start == most_texts or spent + cost > most_tokens):
            yield texts[start:position]
            start, spent = position, 0
        spent += cost
    if start < len(texts):
        yield texts[start:]
