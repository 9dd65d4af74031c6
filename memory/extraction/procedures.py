"""Records of what agents did. Pure."""

import re

from memory.extraction.response_schema import Unusable, unfenced

LONGEST = 50_000
FIRST_STEP = re.compile(r"^[^\S\n]*+(?:#++[^\S\n]*+)?(?:\*\*)?1[^\S\n]*+[.)、:]", re.MULTILINE)


def read_procedure(raw: str, *, numbered: bool) -> str:
    """The record in an answer, without the fence around it; `numbered`: it must have steps."""
    text = unfenced(raw)
    if not text or "\x00" in text:
        raise Unusable("it says nothing")
    if len(text) > LONGEST:
        raise Unusable(f"it is longer than {LONGEST} characters")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise Unusable("it is not text") from error
    if numbered and not FIRST_STEP.search(text):
        raise Unusable("it has no numbered steps")
    return text
