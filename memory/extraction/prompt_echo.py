"""Telling an answer that repeats its prompt from one that says something. Pure."""

from collections.abc import Sequence

from kmapp.text.terms import terms

RUN = 3  # terms in a row
MOST = 0.5  # of a text's runs that the prompt may hold and the source does not


def repeats_prompt(text: str, prompt: str, source: str) -> bool:
    """Whether a text was taken from the prompt or its examples instead of the source."""
    answer_runs = _runs(terms(text))
    if not answer_runs:
        return False
    ours = answer_runs & _runs(terms(prompt), len(next(iter(answer_runs)))) - _runs(
        terms(source), len(next(iter(answer_runs)))
    )
    return len(ours) / len(answer_runs) > MOST


def _runs(words: Sequence[str], length: int = 0) -> frozenset[tuple[str, ...]]:
    """Every row of terms of a length; a short text is one row."""
    length = length or min(RUN, len(words))
    return frozenset(
        tuple(words[start : start + length]) for start in range(len(words) - length + 1)
    )
