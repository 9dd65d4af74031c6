"""Recogniser of international bank account numbers (IBAN, ISO 13616), with or without gaps."""

import re
from collections.abc import Iterator
from itertools import chain

from stdnum import iban

from kmapp.text.folding import Span

_MIN_LENGTH, _MAX_LENGTH = 15, 34  # characters
# A candidate may include the words after it. The check digits and the country's format decide.
_CANDIDATE = re.compile(  # a lookahead, because candidates may overlap
    r"(?<![A-Za-z0-9])(?=([A-Za-z]{2}[ \-]?[0-9][ \-]?[0-9](?:[ \-.]{0,2}[A-Za-z0-9]){11,30}))"
)
# Tabs, line breaks and slashes also separate other numbers, so they must be between groups of four.
_GROUPED_CANDIDATE = re.compile(
    r"(?<![A-Za-z0-9])(?=([A-Za-z]{2}[0-9]{2}(?:[\s\-./]{1,4}[A-Za-z0-9]{4}){2,7}"
    r"(?:[\s\-./]{1,4}[A-Za-z0-9]{1,4})?))"
)
_CHARACTER = re.compile(r"[A-Za-z0-9]")
_DIGIT = re.compile(r"[0-9]")  # of which every candidate has two


def find_ibans(text: str) -> Iterator[Span]:
    if not _DIGIT.search(text):
        return
    for candidate in chain(_CANDIDATE.finditer(text), _GROUPED_CANDIDATE.finditer(text)):
        places = [match.start() for match in _CHARACTER.finditer(text, *candidate.span(1))]
        number = "".join(text[place] for place in places)
        for length in _find_valid_lengths(number):
            end = places[length - 1] + 1
            ends_a_word = not _CHARACTER.match(text, end)
            if ends_a_word and iban.is_valid(number[:length], check_country=False):
                yield candidate.start(), end
                break


def _find_valid_lengths(number: str) -> list[int]:
    """Return the lengths at which the check digits are right (ISO 7064 mod 97-10), longest first.

    The remainder is updated for each character, because the library computes it from the start for
    each length.
    """
    head = int("".join(str(int(character, 36)) for character in number[:4]))
    shift, remainder, lengths = 10 ** len(str(head)), 0, []
    for length, character in enumerate(number[4:_MAX_LENGTH], start=5):
        shifted = remainder * (10 if character.isdigit() else 100)  # a letter is two digits
        remainder = (shifted + int(character, 36)) % 97
        if length >= _MIN_LENGTH and (remainder * shift + head) % 97 == 1:
            lengths.append(length)
    return lengths[::-1]
