"""Versions of rules, stored as their commit sealed them."""

import json
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext as _

from kmapp.database.ids import uuid7
from kmapp.errors import Conflict, NotFound
from kmapp.ledger.actions import Recording
from kmapp.ledger.canonical import canonical
from rules.models import Rule, RuleBook, RuleVersion


def get_rule(account_id: UUID, rule_id: UUID) -> Rule:
    rule = Rule.objects.of(account_id).filter(pk=rule_id).first()
    if rule is None:
        raise NotFound(
            _("This rule does not exist, or you do not have access to it."),
            code="node_not_found_in_scope_or_visibility",
        )
    return rule


def store_version(rule: Rule, commit: Recording, event: str, reason: str = "") -> None:
    """Seal a rule as it is now, and keep this state of it."""
    commit.add(rule, event)
    RuleVersion(
        account_id=rule.account_id,
        rule_id=rule.pk,
        version=rule.version,
        event=event,
        state=json.loads(canonical(rule.body())),
        actor=str(commit.actor),
        reason=reason,
        created_at=rule.updated_at,
        commit_id=commit.id,
    ).save(force_insert=True)


def change(
    rule: Rule, commit: Recording, event: str, values: Mapping[str, Any], reason: str = ""
) -> None:
    """Compare and set: give the rule these values if nobody changed it since it was read."""
    now = timezone.now()
    fresh = {**values, "version": rule.version + 1, "updated_at": now, "commit_id": commit.id}
    same = Rule.objects.of(rule.account_id).filter(
        pk=rule.pk, version=rule.version, state=rule.state
    )
    if not same.update(**fresh):
        raise Conflict(
            _("Someone else changed this rule. Reload the page and decide again."),
            code="stale_version",
        )
    for name, value in fresh.items():
        setattr(rule, name, value)
    store_version(rule, commit, event, reason)
    touch(rule.account_id, commit)


def touch(account_id: UUID, commit: Recording) -> None:
    """Count a change, so that nobody goes on with the rules they compiled before."""
    if not RuleBook.objects.of(account_id).update(changes=F("changes") + 1):
        book = RuleBook(id=uuid7(), account_id=account_id, changes=1, commit_id=commit.id)
        fresh = RuleBook.objects.bulk_create([book], ignore_conflicts=True)
        if RuleBook.objects.of(account_id).filter(pk=fresh[0].pk).exists():
            commit.add(book, "ADD")
        else:
            RuleBook.objects.of(account_id).update(changes=F("changes") + 1)


def expect(rule: Rule, version: int | None) -> None:
    """Refuse a decision about a rule that has changed since it was looked at."""
    if version is not None and rule.version != version:
        raise Conflict(
            _("Someone else changed this rule. Reload the page and decide again."),
            code="stale_version",
            details={"version": rule.version, "state": rule.state},
        )
