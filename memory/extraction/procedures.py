"""Records of what agents did. Pure."""

import re

from memory.extraction.response_schema import InvalidResponse, strip_code_fence

LONGEST = 50_000
FIRST_STEP = re.compile(r"^[^\S\n]*+(?:#++[^\S\n]*+)?(?:\*\*)?1[^\S\n]*+[.)、:]", re.MULTILINE)


def parse_procedure(raw: str, *, numbered: bool) -> str:
    """Return the record without its code fence; `numbered`: it must have steps."""
    text = strip_code_fence(raw)
    if not text or "\x00" in text:
        raise InvalidResponse("it says nothing")
    if len(text) > LONGEST:
        raise InvalidResponse(f"it is longer than {LONGEST} characters")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidResponse("it is not text") from error
    if numbered and not FIRST_STEP.search(text):
        raise InvalidResponse("it has no numbered steps")
    return text
