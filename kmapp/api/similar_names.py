"""The known name that is most like an unknown one."""

from collections.abc import Iterable
from difflib import get_close_matches

SIMILARITY = 0.6  # of the nearest name, from 0 to 1


def find_nearest(name: str, candidates: Iterable[str]) -> str | None:
    """Return the candidate that is most like this name, or shares a word with it."""
    names = sorted(candidates)
    if close := get_close_matches(name, names, n=1, cutoff=SIMILARITY):
        return close[0]
    words = set(name.lower().split("_"))
    return next((each for each in names if words & set(each.split("_")) - {"id"}), None)
