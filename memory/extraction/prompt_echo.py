"""Detection of answers that repeat the prompt. Pure."""

from collections.abc import Sequence

from kmapp.text.terms import extract_terms

RUN_LENGTH = 3  # consecutive terms
MAX_SHARE = 0.5  # of the runs of a text that occur in the prompt but not in the source


def repeats_prompt(text: str, prompt: str, source: str) -> bool:
    """Return whether a text was copied from the prompt or its examples instead of the source."""
    runs = _list_runs(extract_terms(text))
    if not runs:
        return False
    length = len(next(iter(runs)))
    prompt_runs = _list_runs(extract_terms(prompt), length)
    copied_runs = runs & prompt_runs - _list_runs(extract_terms(source), length)
    return len(copied_runs) / len(runs) > MAX_SHARE


def _list_runs(words: Sequence[str], length: int = 0) -> frozenset[tuple[str, ...]]:
    """Return all sequences of `length` terms; a short text is a single sequence."""
    length = length or min(RUN_LENGTH, len(words))
    return frozenset(
        tuple(words[start : start + length]) for start in range(len(words) - length + 1)
    )
