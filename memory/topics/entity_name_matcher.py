"""Detection of names. Pure.

A name in Latin script must be a whole word in any case; one in Chinese may occur anywhere.
"""

import re
from collections.abc import Callable, Iterable
from functools import lru_cache

from kmapp.text.person_ids import UNSPACED

MIN_NAME_LENGTH = 2  # characters; a single one is an initial or a common word
_LETTER = rf"[^\W_{UNSPACED}]"  # Chinese has no spaces around a name in Latin script


def build_name_matcher(text: str, entities: Iterable[str]) -> Callable[[str], bool]:
    """Return a function that finds the names in a text or its list of entities."""
    entity_names = {each.casefold() for each in entities}
    folded = text.casefold()

    def contains_name(name: str) -> bool:
        folded_name = name.strip().casefold()
        if len(folded_name) < MIN_NAME_LENGTH:
            return False
        return folded_name in entity_names or bool(_compile_pattern(folded_name).search(folded))

    return contains_name


@lru_cache(maxsize=2_000)
def _compile_pattern(name: str) -> re.Pattern[str]:
    before = f"(?<!{_LETTER})" if name[0].isascii() else ""
    after = f"(?!{_LETTER})" if name[-1].isascii() else ""
    return re.compile(f"{before}{re.escape(name)}{after}")
