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
    "object": _("write an object here: {…}"),
    "array": _("write a list here: […]"),
    "string": _("write text here, in quotes"),
    "boolean": _("write true or false here"),
    "number-or-string": _("write a number or text here"),
    "enum": _("write one of these: %(known)s"),
    "unknown": _("does not know %(unknown)s: take it out, or write one of %(known)s"),
    "minProperties": _("is empty: say at least one thing here"),
    "maxProperties": _("has %(n)d entries: %(most)d are the most"),
    "minItems": _("is an empty list: write at least one thing in it"),
    "maxItems": _("has %(n)d items: %(most)d are the most"),
    "minLength": _("is an empty name: write one, or take it out"),
    "maxLength": _("has %(n)d characters: %(most)d are the most"),
    "uniqueItems": _("names something twice: take one of them out"),
    "large": _("has %(n)d characters as JSON: %(most)d are the most"),
    "pattern": _(
        "is no pattern that is matched in linear time, so it would never match: close what is "
        "open, and do without look-around and back references"
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
