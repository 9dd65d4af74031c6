"""Input of a new rule."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any
from uuid import UUID, uuid5

from django.utils.translation import gettext as _

from kmapp.database.content_digests import keyed_digest, matches_digest
from kmapp.database.ids import uuid7
from kmapp.errors import Invalid
from kmapp.ledger.canonical import canonical
from rules.editing.validation_messages import Issue, issues_of, size_issues

DEFAULT_SCOPE = "default"  # how other clients name the scope without a name
CODES = {
    "then": "invalid_rule_then_json",
    "if": "invalid_rule_if_json",
    "exceptions": "invalid_rule_exceptions_json",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRule:
    """One rule to write. Empty strings and None mean: not given."""

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

    def key_in(self, account_id: UUID) -> UUID:
        """Its id: the same for the same client id, whoever asks and how often."""
        if self.client_id:
            return uuid5(account_id, f"{self.scope}\x1f{self.client_id}")
        return self.id or uuid7()

    def sha256(self) -> str:
        """Of all that was said, with a secret: the same client id and body is the same write."""
        return keyed_digest("rules.rule", canonical(asdict(self)))

    def is_of(self, sha256: str) -> bool:
        """Whether this is what was kept with this digest."""
        return matches_digest(sha256, "rules.rule", canonical(asdict(self)))

    def parts(self) -> dict[str, Any]:
        return {"if": self.when, "then": self.then, "exceptions": list(self.exceptions)}

    def issues(self) -> list[Issue]:
        return issues_of(self.parts())


def scope_of(scope_text: str | None) -> str:
    return "" if scope_text in (None, DEFAULT_SCOPE) else str(scope_text)


def refuse(issues: Sequence[Mapping[str, str]]) -> None:
    """Refuse what cannot be a rule, saying every place; the code is that of the worst part."""
    if not issues:
        return
    parts = {issue["path"].partition(".")[0] for issue in issues}
    code = next(code for part, code in CODES.items() if part in parts)
    raise Invalid(
        _("The rule is not valid: %(what)s.") % {"what": _together(issues)},
        code=code,
        issues=issues,
    )


def refuse_large(draft: NewRule) -> None:
    """Refuse large rules, because a rule is matched against every context."""
    if issues := size_issues(draft.parts()):
        raise Invalid(
            _("The rule is too large: %(what)s.") % {"what": _together(issues)}, issues=issues
        )


def _together(issues: Sequence[Mapping[str, str]]) -> str:
    return "; ".join(f"{each['path']}: {each['message']}" for each in issues[:3])
