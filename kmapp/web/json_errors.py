"""What is wrong with a JSON text, and what to do about it, in a person's language."""

from collections.abc import Mapping

from django.utils.functional import Promise
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _

from kmapp.api.strict_json import Refused

WORDS: Mapping[str, Promise] = {
    "syntax": _("This is not JSON yet: look at line %(line)d, column %(column)d."),
    "object": _("Write an object: {…}"),
    "twice": _("%(path)s: has the key %(key)s twice: take one of them out."),
    "number": _("%(path)s: is a number that is too large to be kept exactly."),
    "deep": _("This is nested deeper than %(most)d levels: make it flatter."),
    "crowded": _("This has more than %(most)d items: make it smaller."),
    "character": _("%(path)s: has a character that cannot be kept: take it out."),
    "word": _("%(path)s: is a word that JSON does not have."),
}


def json_issue(error: Refused) -> str:
    """Return a translated message for a JSON error."""
    path = error.path or _now("The text")
    return str(WORDS[error.code]) % {**error.params, "path": path}
