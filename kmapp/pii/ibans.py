"""Recogniser of international bank account numbers (IBAN, ISO 13616), with or without spaces."""

import re
from collections.abc import Iterator

from stdnum import iban

from kmapp.text.folding import Span

_SHORTEST, _LONGEST = 15, 34  # characters
# A candidate may include the words after it. The check digits and the country's format decide.
_CANDIDATE = re.compile(  # a lookahead, because candidates may overlap
    r"(?<![A-Za-z0-9])(?=([A-Za-z]{2}[ \-]?[0-9][ \-]?[0-9](?:[ \-.]{0,2}[A-Za-z0-9]){11,30}))"
)
_CHARACTER = re.compile(r"[A-Za-z0-9]")


def find_ibans(text: str) -> Iterator[Span]:
    for candidate in _CANDIDATE.finditer(text):
        places = [match.start() for match in _CHARACTER.finditer(text, *candidate.span(1))]
        number = "".join(text[place] for place in places)
        for length in range(min(_LONGEST, len(number)), _SHORTEST - 1, -1):
            end = places[length - 1] + 1
            ends_a_word = not _CHARACTER.match(text, end)
            if ends_a_word and iban.is_valid(number[:length], check_country=False):
                yield candidate.start(), end
                break
