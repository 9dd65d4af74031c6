"""Reasons why a document could not be parsed, in the reader's language.

Parsers run without Django and say it in English, with figures; here each sentence is known again.
"""

import re

from django.utils.translation import gettext, gettext_noop

SENTENCES = (
    gettext_noop("The parser broke over it."),
    gettext_noop("It is broken or not what it seems (%(kind)s)."),
    gettext_noop("Reading it took longer than %(n)s seconds."),
    gettext_noop("Reading it takes more memory than a file may have."),
    gettext_noop("We do not know how to read files of this kind."),
    gettext_noop("It is no text that we can read: neither UTF-8 nor UTF-16 nor GB 18030."),
    gettext_noop("It has %(n)s pages; at most %(most)s are read."),
    gettext_noop("Its pages hold pictures only: there is no text to read."),
    gettext_noop("It has more than %(most)s cells."),
    gettext_noop("It holds %(n)s files; at most %(most)s are unpacked."),
    gettext_noop("It holds a file that is too large."),
    gettext_noop("It holds more than %(most)s characters of text."),
    gettext_noop("Its address is none that we ask: http:// or https:// and the name of a site."),
    gettext_noop("Its site is not among those that may be fetched."),
    gettext_noop("Its site stands at an address that is not public."),
    gettext_noop("The site did not answer within %(n)s seconds."),
    gettext_noop("The site could not be reached."),
    gettext_noop("The site answered %(n)s."),
    gettext_noop("The site sent something that is no page to read."),
    gettext_noop("It leads on more than %(n)s times."),
    gettext_noop("It has more than %(most)s bytes."),
    gettext_noop("Unpacked it has %(n)s bytes, too much for its %(packed)s."),
)
_PLACE = re.compile(r"%\\\((\w+)\\\)s")  # as re.escape leaves it


def _pattern(post_text: str) -> re.Pattern[str]:
    return re.compile(_PLACE.sub(lambda at: rf"(?P<{at[1]}>[\w,]+)", re.escape(post_text)))


_PATTERNS = [(post_text, _pattern(post_text)) for post_text in SENTENCES]


def in_words(error: str) -> str:
    """Return the message in the reader's language, or unchanged if it is unknown."""
    for post_text, pattern in _PATTERNS:
        if match := pattern.fullmatch(error):
            return gettext(post_text) % match.groupdict()
    return error
