"""Detection of names. Pure.

A name in Latin script must be a whole word in any case; one in Chinese may occur anywhere.
"""

import re
from collections.abc import Callable, Iterable

from kmapp.text.whole_words import UNSPACED, contains_word

MIN_NAME_LENGTH = 2  # characters; a single one is an initial or a common word
_LETTER = re.compile(rf"[^\W_{UNSPACED}]")  # Chinese has no spaces around a name in Latin script


def build_name_matcher(text: str, entities: Iterable[str]) -> Callable[[str], bool]:
    """Return a function that finds the names in a text or its list of entities."""
    entity_names = {each.casefold() for each in entities}
    folded = text.casefold()

    def contains_name(name: str) -> bool:
        folded_name = name.strip().casefold()
        if len(folded_name) < MIN_NAME_LENGTH:
            return False
        before = _LETTER if folded_name[0].isascii() else None
        after = _LETTER if folded_name[-1].isascii() else None
        return folded_name in entity_names or contains_word(
            folded, folded_name, before=before, after=after
        )

    return contains_name
