"""Names that readers confuse: both have the same skeleton (as in Unicode UTS #39)."""

from collections.abc import Iterable

from kmapp.text.folding import fold

# Cyrillic and Greek letters, and the Latin letters that look the same.
LATIN_LETTERS = str.maketrans("аеорсухіѕјһԁαοεικρυ", "aeopcyxisjhdaoeikpu")
_SIMILAR_SHAPES = str.maketrans("01i|_. ", "olll---")


def skeleton(name: str) -> str:
    """Return a name without differences of width, case, script and shape. For comparison only."""
    letters = fold(name).text.casefold().translate(LATIN_LETTERS)
    return letters.translate(_SIMILAR_SHAPES).replace("rn", "m")


def list_confusable(name: str, others: Iterable[str]) -> list[str]:
    own = skeleton(name)
    return sorted(each for each in others if each != name and skeleton(each) == own)
