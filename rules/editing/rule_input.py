"""Input of a new rule, and its validation messages in the reader's language."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any
from uuid import UUID, uuid5

from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from kmapp.database.ids import uuid7
from kmapp.database.keyed_digests import keyed_digest, matches_digest
from kmapp.errors import Invalid
from kmapp.ledger.canonical import encode_canonical
from rules.editing.json_schemas import PARTS, Violation, list_size_violations, list_violations
from rules.evaluation.time_limit import TooSlow, limit_time

Issue = dict[str, str]
MAX_SECONDS = 5.0  # processor time to check rules, for which a client or a person waits
DEFAULT_SCOPE = "default"  # the name of the unnamed scope in other clients
CODES = {
    "then": "invalid_rule_then_json",
    "if": "invalid_rule_if_json",
    "exceptions": "invalid_rule_exceptions_json",
}

MESSAGES: Mapping[str, str | Promise] = {
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
SLOW_MESSAGE = _("This part could not be checked in time. Simplify it, or try again.")


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRule:
    """A rule to create. Empty strings and None are missing values."""

    name: str
    summary: str = ""
    when: Mapping[str, Any] = field(default_factory=dict)
    then: Mapping[str, Any] = field(default_factory=dict)
    exceptions: Sequence[Any] = ()
    priority: int = 0
    weight: float = 1.0
    audience: str = "account"
    audience_id: str = ""
    scope: str = ""
    client_id: str = ""
    id: UUID | None = None

    def derive_id(self, account_id: UUID) -> UUID:
        """Return its id, which is equal for the same client id."""
        if self.client_id:
            return uuid5(account_id, f"{self.scope}\x1f{self.client_id}")
        return self.id or uuid7()

    def digest(self) -> str:
        """Return a keyed digest of all fields, to recognise a repeated request."""
        return keyed_digest("rules.rule", encode_canonical(asdict(self)))

    def has_digest(self, sha256: str) -> bool:
        """Return whether the digest is of this rule, under any secret."""
        return matches_digest(sha256, "rules.rule", encode_canonical(asdict(self)))

    def parts(self) -> dict[str, Any]:
        return {"if": self.when, "then": self.then, "exceptions": list(self.exceptions)}

    def list_issues(self) -> list[Issue]:
        return list_issues(self.parts())


def list_issues(rule: Mapping[str, Any]) -> list[Issue]:
    """Return the issues of all parts, as many as can be found in MAX_SECONDS."""
    with limit_time(MAX_SECONDS):
        return [issue for name in PARTS for issue in _list_part_issues(name, rule[name])]


def _list_part_issues(name: str, part: Any) -> list[Issue]:
    try:
        return [_render_issue(violation) for violation in list_violations(name, part)]
    except TooSlow:
        return [{"path": name, "message": str(SLOW_MESSAGE)}]


def list_size_issues(rule: Mapping[str, Any]) -> list[Issue]:
    """Return the issues of parts that are too large. Drafts may have any other issue."""
    return [
        _render_issue(violation)
        for name in PARTS
        for violation in list_size_violations(name, rule[name])
    ]


def _render_issue(violation: Violation) -> Issue:
    return {"path": violation.path, "message": str(MESSAGES[violation.code]) % violation.params}


def parse_scope(scope_text: str | None) -> str:
    return "" if scope_text in (None, DEFAULT_SCOPE) else str(scope_text)


def validate_rule(draft: NewRule) -> None:
    """Raise Invalid with all issues of the rule; the code is that of the worst part."""
    issues = draft.list_issues()
    if not issues:
        return
    parts = {issue["path"].partition(".")[0] for issue in issues}
    code = next(code for part, code in CODES.items() if part in parts)
    raise Invalid(
        gettext("The rule is not valid: %(what)s.") % {"what": _join_issues(issues)},
        code=code,
        issues=issues,
    )


def validate_size(draft: NewRule) -> None:
    """Raise Invalid if the rule is too large, because it is matched against every context."""
    if issues := list_size_issues(draft.parts()):
        raise Invalid(
            gettext("The rule is too large: %(what)s.") % {"what": _join_issues(issues)},
            issues=issues,
        )


def _join_issues(issues: Sequence[Mapping[str, str]]) -> str:
    return "; ".join(f"{each['path']}: {each['message']}" for each in issues[:3])
