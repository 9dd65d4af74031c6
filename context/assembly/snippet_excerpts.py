"""Retrieved texts within a number of tokens, as excerpts where they do not fit. Pure.

If not all texts fit, each is shortened to the sentences around the one that says most about the
query, so that more of them fit. Then the best ones are whole again as far as the limit allows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from context.archives.passage_selection import find_best_sentences, weigh_terms
from context.archives.passage_splitting import TextPassage
from context.assembly.prompt_inputs import Snippet
from kmapp.text import token_counter
from kmapp.text.terms import extract_terms

# Tokens to which a text is shortened at most. With fewer, more texts fit, but more of them lose the
# sentence that answers the query.
MIN_TOKENS = 160
LEFT_OUT = "…"


def select_snippets(candidates: Sequence[Snippet], query: str, limit: int) -> list[Snippet]:
    """Return the candidates that fit into `limit` tokens, in their order, the best first."""
    sizes = [snippet.tokens for snippet in candidates]
    if sum(sizes) <= max(0, limit):
        return list(candidates)
    excerpts = _shorten_all(candidates, query, limit)
    chosen: list[int] = []
    used = 0
    for index, excerpt in enumerate(excerpts):
        if used + excerpt.tokens <= limit:
            chosen.append(index)
            used += excerpt.tokens
    selected = []
    for index in chosen:
        snippet, excerpt = candidates[index], excerpts[index]
        added = sizes[index] - excerpt.tokens
        selected.append(snippet if used + added <= limit else excerpt)
        used += added if selected[-1] is snippet else 0
    return selected


def _shorten_all(candidates: Sequence[Snippet], query: str, limit: int) -> list[Snippet]:
    """Return excerpts of about equal size, which fit into the limit together if they can."""
    weights = weigh_terms(query, [frozenset(extract_terms(snippet.text)) for snippet in candidates])
    tags = [snippet.tokens - token_counter.count_tokens(snippet.text) for snippet in candidates]
    max_tokens = max(MIN_TOKENS, (limit - sum(tags)) // len(candidates))
    return [_shorten(snippet, weights, max_tokens) for snippet in candidates]


def _shorten(snippet: Snippet, weights: Mapping[str, float], max_tokens: int) -> Snippet:
    text = snippet.text
    if token_counter.count_tokens(text) <= max_tokens:
        return snippet
    best = find_best_sentences(
        TextPassage(0, len(text), text), weights, max_tokens, token_counter.count_tokens
    )
    if best.text.strip() == text.strip():
        return snippet
    before = f"{LEFT_OUT} " if best.start else ""
    after = f" {LEFT_OUT}" if best.end < len(text) else ""
    return replace(snippet, text=f"{before}{best.text.strip()}{after}", is_excerpt=True)
