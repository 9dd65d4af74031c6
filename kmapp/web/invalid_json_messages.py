"""Translated messages for errors in JSON texts."""

from collections.abc import Mapping

from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from kmapp.api.strict_json import RefusedJSON

WORDS: Mapping[str, Promise] = {
    "syntax": _("Invalid JSON. Check line %(line)d, column %(column)d."),
    "object": _("Enter a JSON object: {…}"),
    "twice": _("%(path)s: the key %(key)s occurs twice. Remove one of them."),
    "number": _(
        "%(path)s: the number is too large to store exactly. Use a smaller number or a string."
    ),
    "deep": _("The JSON is nested deeper than %(most)d levels. Reduce the nesting."),
    "crowded": _("The JSON has more than %(most)d items. Remove some."),
    "character": _("%(path)s: contains a character that cannot be stored. Remove it."),
    "word": _("%(path)s: not a valid JSON value. Use a string, a number, true, false or null."),
}


def json_issue(error: RefusedJSON) -> str:
    """Return a translated message for a JSON error."""
    path = error.path or gettext("The text")
    return str(WORDS[error.code]) % {**error.params, "path": path}
