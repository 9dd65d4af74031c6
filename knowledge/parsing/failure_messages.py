"""Reasons why a document could not be parsed, in the reader's language.

Parsers run without Django and report in English, with numbers. Here each message is matched with
its template, which is then translated.
"""

import re

from django.utils.translation import gettext, gettext_noop

# Of a document whose job failed permanently; the job can be retried.
JOB_FAILED = gettext_noop("Processing failed several times. Retry it, or check the failed jobs.")
TEMPLATES = (
    JOB_FAILED,
    gettext_noop("The parser failed on this file."),
    gettext_noop("The file is damaged or its content does not match its type (%(kind)s)."),
    gettext_noop("Parsing took longer than %(n)s seconds."),
    gettext_noop("Parsing needs more memory than is allowed for one file."),
    gettext_noop("This file type is not supported."),
    gettext_noop("The text encoding is not supported. Use UTF-8, UTF-16 or GB 18030."),
    gettext_noop("The file has %(n)s pages. The limit is %(most)s pages."),
    gettext_noop("The file contains only images and no text."),
    gettext_noop("The file has more than %(most)s cells."),
    gettext_noop("The archive has %(n)s files. The limit is %(most)s files."),
    gettext_noop("The archive contains a file that is too large."),
    gettext_noop("The file has more than %(most)s characters of text."),
    gettext_noop("Enter an http:// or https:// URL."),
    gettext_noop("This site is not on the list of allowed sites."),
    gettext_noop("This site has no public IP address, so it cannot be fetched."),
    gettext_noop("The site did not respond within %(n)s seconds."),
    gettext_noop("The site could not be reached."),
    gettext_noop("The site returned HTTP status %(n)s."),
    gettext_noop("The site did not return a readable page."),
    gettext_noop("The page redirects more than %(n)s times."),
    gettext_noop("The page is larger than %(most)s bytes."),
    gettext_noop(
        "The archive unpacks to %(n)s bytes, which is too large for its size of %(packed)s bytes."
    ),
    # Of the actions, where they are marked for translation; an archive or a page fails with them.
    "“%(ref)s” is too large: %(size)s bytes. The limit is %(most)s bytes per file.",
    "Document storage is full: %(kept)s of %(most)s bytes are used. Erase some documents, then try "
    "again.",
    "“%(ref)s” contains a virus (%(virus)s), so nothing was stored.",
    "The virus scanner is not available, so nothing was stored. Try again later.",
)
_PLACEHOLDER = re.compile(r"%\\\((\w+)\\\)s")  # as re.escape writes it
_VALUE = r"[\w,]+"  # of placeholders for words and numbers
_VALUES = {"ref": ".+", "virus": "[^()]+"}  # of the others


def _compile(template: str) -> "re.Pattern[str]":
    """Return the pattern of the messages of a template, with a group for each placeholder."""
    pattern = _PLACEHOLDER.sub(
        lambda name: f"(?P<{name[1]}>{_VALUES.get(name[1], _VALUE)})", re.escape(template)
    )
    return re.compile(rf"\A{pattern}", re.DOTALL)  # without \A, a search would be quadratic


_PATTERNS = {template: _compile(template) for template in TEMPLATES}


def translate_failure(error: str) -> str:
    """Return the message in the reader's language, or unchanged if it is unknown."""
    for template, pattern in _PATTERNS.items():
        if match := pattern.fullmatch(error):
            return gettext(template) % match.groupdict()
    return error
