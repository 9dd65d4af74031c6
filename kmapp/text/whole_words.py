"""Detection of whole words, such as the id of a person, in texts. Pure."""

import re

# Characters of scripts that need no spaces around a name: Chinese, Thai, kana and hangul.
UNSPACED = (
    "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
    "\u0e00-\u0e7f\u3040-\u30ff\uac00-\ud7af"
)
_UNSPACED_CHARACTER = re.compile(f"[{UNSPACED}]")
_LETTER = re.compile(rf"[^\W{UNSPACED}]")  # of a word in a script with spaces


def contains_person_id(text: str, person: str) -> bool:
    """Return whether a text contains an id: as a word, or anywhere in a script without spaces."""
    if person not in text:
        return False
    before = None if _UNSPACED_CHARACTER.match(person[:1]) else _LETTER
    after = None if _UNSPACED_CHARACTER.match(person[-1:]) else _LETTER
    return contains_word(text, person, before=before, after=after)


def contains_word(
    text: str, word: str, *, before: re.Pattern[str] | None, after: re.Pattern[str] | None
) -> bool:
    """Return whether a text contains a word that no such character precedes or follows.

    One regular expression per word would be slower: these characters take milliseconds to compile.
    """
    at = text.find(word)
    while at >= 0:
        is_part = (before and at and before.match(text, at - 1)) or (
            after and after.match(text, at + len(word))
        )
        if not is_part:
            return True
        at = text.find(word, at + 1)
    return False
