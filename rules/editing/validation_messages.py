"""Validation messages of rules in the reader's language.

What is said of a rule follows the name of the place that it is about.
"""

from collections.abc import Mapping
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from rules.editing.json_schemas import PARTS, Flaw, flaws_of, too_large

Issue = dict[str, str]
WORDS: Mapping[str, str | Promise] = {
    "object": _("Enter a JSON object: {…}"),
    "array": _("Enter a list: […]"),
    "string": _("Enter text in quotes"),
    "boolean": _("Enter true or false"),
    "number-or-string": _("Enter a number or text"),
    "enum": _("Use one of these: %(known)s"),
    "unknown": _("Unknown name %(unknown)s: remove it, or use one of %(known)s"),
    "minProperties": _("Empty object: add at least one entry"),
    "maxProperties": _("Too many entries: %(n)d, the limit is %(most)d"),
    "minItems": _("Empty list: add at least one item"),
    "maxItems": _("Too many items: %(n)d, the limit is %(most)d"),
    "minLength": _("Empty name: enter a name, or remove it"),
    "maxLength": _("Too long: %(n)d characters, the limit is %(most)d"),
    "uniqueItems": _("Duplicate names: remove one of them"),
    "large": _("Too large: %(n)d characters as JSON, the limit is %(most)d"),
    "pattern": _(
        "Unsupported regular expression, so it would never match: close all brackets, "
        "and remove look-arounds and backreferences"
    ),
}


def issues_of(rule: Mapping[str, Any]) -> list[Issue]:
    """Return the issues of a rule's `if`, `then` and `exceptions`, by path."""
    return [issue for name in PARTS for issue in part_issues(name, rule[name])]


def part_issues(name: str, value: Any) -> list[Issue]:
    return [_issue(flaw) for flaw in flaws_of(name, value)]


def size_issues(rule: Mapping[str, Any]) -> list[Issue]:
    """Only whether a part is too large: drafts may be wrong in any other way."""
    return [_issue(flaw) for name in PARTS for flaw in too_large(name, rule[name])]


def _issue(flaw: Flaw) -> Issue:
    return {"path": flaw.path, "message": str(WORDS[flaw.code]) % flaw.params}
