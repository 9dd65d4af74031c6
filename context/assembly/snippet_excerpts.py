"""Retrieved texts within a number of tokens, as excerpts where they do not fit. Pure.

If not all texts fit, each is shortened to the sentences that say most about the query, so that more
of them fit. Then the best ones are whole again as far as the limit allows.
"""

from collections.abc import Sequence
from dataclasses import replace

from context.assembly.calls import Snippet
from kmapp.text import tokens
from kmapp.text.excerpts import Excerpts

# To which a text is shortened at most: with its tags, an excerpt of fewer tokens saves little of a
# memory, and omits much of it.
MIN_TOKENS = 80


def select_snippets(candidates: Sequence[Snippet], query: str, limit: int) -> list[Snippet]:
    """Return the candidates that fit into `limit` tokens, in their order, the best first."""
    sizes = [snippet.tokens for snippet in candidates]
    if sum(sizes) <= max(0, limit):
        return list(candidates)
    excerpts = _shorten(candidates, query, limit)
    chosen: list[int] = []
    used = 0
    for index, excerpt in enumerate(excerpts):
        if used + excerpt.tokens <= limit:
            chosen.append(index)
            used += excerpt.tokens
    selected = []
    for index in chosen:
        whole, excerpt = candidates[index], excerpts[index]
        added = sizes[index] - excerpt.tokens
        selected.append(whole if used + added <= limit else excerpt)
        used += added if selected[-1] is whole else 0
    return selected


def _shorten(candidates: Sequence[Snippet], query: str, limit: int) -> list[Snippet]:
    """Return excerpts of about equal size, which fit into the limit together if they can."""
    excerpts = Excerpts(query, [snippet.text for snippet in candidates])
    tags = [snippet.tokens - tokens.count(snippet.text) for snippet in candidates]
    most = max(MIN_TOKENS, (limit - sum(tags)) // len(candidates))
    shortened = []
    for snippet in candidates:
        text = excerpts.shortened(snippet.text, most, tokens.count)
        is_excerpt = text != snippet.text and tokens.count(text) < tokens.count(snippet.text)
        shortened.append(replace(snippet, text=text, is_excerpt=True) if is_excerpt else snippet)
    return shortened
