"""Parsing of procedures: records of what an agent did. Pure."""

import re

from memory.extraction.response_schema import InvalidResponse, strip_code_fence

MAX_LENGTH = 50_000
FIRST_STEP = re.compile(r"^[^\S\n]*+(?:#++[^\S\n]*+)?(?:\*\*)?1[^\S\n]*+[.)、:]", re.MULTILINE)


def parse_procedure(raw: str, *, numbered: bool) -> str:
    """Return the record in an answer, without a code fence; `numbered` requires numbered steps."""
    text = strip_code_fence(raw)
    if not text or "\x00" in text:
        raise InvalidResponse("it says nothing")
    if len(text) > MAX_LENGTH:
        raise InvalidResponse(f"it is longer than {MAX_LENGTH} characters")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidResponse("it is not text") from error
    if numbered and not FIRST_STEP.search(text):
        raise InvalidResponse("it has no numbered steps")
    return text
