"""Versions of rules. Each version stores the state that its commit sealed."""

import json
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext as _

from kmapp.database.ids import uuid7
from kmapp.errors import Conflict, NotFound
from kmapp.ledger.actions import Recording
from kmapp.ledger.canonical import encode_canonical
from kmapp.ledger.read_verification import WITHHELD, require_sealed, withhold_mismatches
from rules.models import Rule, RuleBook, RuleSuggestion, RuleVersion


def get_rule(account_id: UUID, rule_id: UUID) -> Rule:
    rows = Rule.objects.of(account_id).with_verify_on_read(account_id)
    rule = rows.filter(pk=rule_id).first()
    if rule is None:
        raise NotFound(
            _("This rule does not exist, or you do not have access to it."),
            code="node_not_found_in_scope_or_visibility",
        )
    return rule


def get_sealed_rule(account_id: UUID, rule_id: UUID) -> Rule:
    """Return the rule if it is as the ledger sealed it, or if the account does not verify."""
    rule = get_rule(account_id, rule_id)
    if not withhold_mismatches(account_id, [rule]):
        raise NotFound("This rule differs from the ledger and is withheld.", code=WITHHELD)
    return rule


def require_sealed_rules(rules: Sequence[Rule]) -> None:
    """Refuse to change rules that differ from their seal; see `require_sealed`."""
    require_sealed(
        rules,
        _(
            "This rule differs from its sealed state, so it cannot be changed. Restore its row in "
            "the database."
        ),
    )


def store_version(rule: Rule, commit: Recording, event: str) -> None:
    """Seal the present state of a rule and store it as a version."""
    commit.add(rule, event)
    RuleVersion(
        account_id=rule.account_id,
        rule_id=rule.pk,
        version=rule.version,
        event=event,
        state=json.loads(encode_canonical(rule.body())),
        actor=str(commit.actor),
        reason=commit.reason,
        created_at=rule.updated_at,
        commit_id=commit.id,
    ).save(force_insert=True)


def apply_change(rule: Rule, commit: Recording, event: str, values: Mapping[str, Any]) -> None:
    """Set these values if nobody changed the rule since it was read.

    Raise Conflict if the account verifies rows on read and the rule differs from its seal.
    """
    require_sealed_rules([rule])
    now = timezone.now()
    columns = {**values, "version": rule.version + 1, "updated_at": now, "commit_id": commit.id}
    unchanged = Rule.objects.of(rule.account_id).filter(
        pk=rule.pk, version=rule.version, state=rule.state
    )
    if not unchanged.update(**columns):
        raise Conflict(
            _("Someone else changed this rule. Reload the page and decide again."),
            code="stale_version",
        )
    for name, value in columns.items():
        setattr(rule, name, value)
    if "state" in values:  # a suggestion is about the state
        RuleSuggestion.objects.of(rule.account_id).filter(rule_id=rule.pk).delete()
    store_version(rule, commit, event)
    count_change(rule.account_id, commit)


def count_change(account_id: UUID, commit: Recording) -> None:
    """Increment the account's change counter, so that processes compile the rules again."""
    if not RuleBook.objects.of(account_id).update(changes=F("changes") + 1):
        book = RuleBook(id=uuid7(), account_id=account_id, changes=1, commit_id=commit.id)
        created = RuleBook.objects.bulk_create([book], ignore_conflicts=True)
        if RuleBook.objects.of(account_id).filter(pk=created[0].pk).exists():
            commit.add(book, "ADD")
        else:
            RuleBook.objects.of(account_id).update(changes=F("changes") + 1)


def check_version(rule: Rule, version: int | None) -> None:
    """Raise Conflict if the rule has another version than the person saw."""
    if version is not None and rule.version != version:
        raise Conflict(
            _("Someone else changed this rule. Reload the page and decide again."),
            code="stale_version",
            details={"version": rule.version, "state": rule.state},
        )
