"""Names that a reader takes for one another: the skeleton of both is the same (as in UTS #39)."""

from collections.abc import Iterable

from kmapp.redaction.folding import fold

# Cyrillic and Greek letters, and the Latin ones they are taken for.
LETTERS = str.maketrans("аеорсухіѕјһԁαοεικρυ", "aeopcyxisjhdaoeikpu")
_SHAPES = str.maketrans("01i|_. ", "olll---")


def skeleton(name: str) -> str:
    """What is left of a name when width, case, script and marks that are hard to see are not told.

    Not for showing: it is read by nobody, only compared.
    """
    return fold(name).text.casefold().translate(LETTERS).translate(_SHAPES).replace("rn", "m")


def look_alikes(name: str, others: Iterable[str]) -> list[str]:
    """Those of the other names that this one is hard to tell from, in their order."""
    wanted = skeleton(name)
    return sorted(each for each in others if each != name and skeleton(each) == wanted)
