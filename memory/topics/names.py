"""Detection of names. Pure.

A name in Latin script must be a whole word in any case; one in Chinese may occur anywhere.
"""

import re
from collections.abc import Callable, Iterable
from functools import lru_cache

SHORTEST = 2  # characters; a single one is an initial or a common word


def named_in(text: str, entities: Iterable[str]) -> Callable[[str], bool]:
    """Return a function that finds the names in a text or its list of entities."""
    entity_names = {each.casefold() for each in entities}
    folded = text.casefold()

    def has(name: str) -> bool:
        folded_name = name.strip().casefold()
        if len(folded_name) < SHORTEST:
            return False
        return folded_name in entity_names or bool(_pattern(folded_name).search(folded))

    return has


@lru_cache(maxsize=2_000)
def _pattern(name: str) -> re.Pattern[str]:
    before = r"(?<![^\W_])" if name[0].isascii() else ""
    after = r"(?![^\W_])" if name[-1].isascii() else ""
    return re.compile(f"{before}{re.escape(name)}{after}")
