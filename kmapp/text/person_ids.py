"""Detection of the ids of people in texts. Pure."""

import re

# Characters of scripts without spaces between words: Chinese, Thai, kana and hangul.
UNSPACED = (
    "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
    "\u0e00-\u0e7f\u3040-\u30ff\uac00-\ud7af"
)
_UNSPACED_CHARACTER = re.compile(f"[{UNSPACED}]")
_LETTER = rf"[^\W{UNSPACED}]"  # of a word in a script with spaces


def compile_person_id(person: str) -> re.Pattern[str]:
    """Return a pattern that matches an id: a whole word, or anywhere in a script without spaces."""
    before = "" if _UNSPACED_CHARACTER.match(person[:1]) else f"(?<!{_LETTER})"
    after = "" if _UNSPACED_CHARACTER.match(person[-1:]) else f"(?!{_LETTER})"
    return re.compile(f"{before}{re.escape(person)}{after}")
