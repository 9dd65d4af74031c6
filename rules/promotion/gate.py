"""The gate for the promotion of a rule: its conditions, with the settings of the account."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib.humanize.templatetags.humanize import intcomma
from django.utils.translation import gettext as _

from rules.models import RuleBook
from rules.promotion.evidence import PromotionEvidence


@dataclass(frozen=True, slots=True, kw_only=True)
class GateCheck:
    """One condition of the gate, with the actual and the required value."""

    met: bool
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """The conditions for the promotion of a rule."""

    checks: tuple[GateCheck, ...]
    thresholds: dict[str, Any]

    @property
    def missing(self) -> tuple[str, ...]:
        return tuple(check.text for check in self.checks if not check.met)

    @property
    def is_open(self) -> bool:
        return not self.missing


def load_settings(account_id: UUID) -> RuleBook:
    """Return the account's rule settings, or the defaults."""
    return RuleBook.objects.of(account_id).first() or RuleBook(account_id=account_id)


def evaluate_gate(evidence: PromotionEvidence, book: RuleBook) -> Gate:
    against = evidence.against.high
    checks = (
        GateCheck(
            met=evidence.seen >= book.min_seen,
            text=_("%(n)s decisions evaluated; at least %(least)s are required.")
            % {"n": intcomma(evidence.seen), "least": intcomma(book.min_seen)},
        ),
        GateCheck(
            met=evidence.changed >= book.min_changed,
            text=_("%(n)s decisions would have changed; at least %(least)s are required.")
            % {"n": intcomma(evidence.changed), "least": intcomma(book.min_changed)},
        ),
        GateCheck(
            met=against <= book.max_against,
            text=_("Opposing feedback may be as high as %(share)d %%; the limit is %(most)d %%.")
            % {"share": round(100 * against), "most": round(100 * book.max_against)},
        ),
    )
    names = ("min_seen", "min_changed", "max_against")
    return Gate(checks=checks, thresholds={name: getattr(book, name) for name in names})
