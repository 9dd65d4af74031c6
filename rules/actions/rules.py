"""Creation and change of rules, and their versions."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import F, Max, Q
from django.utils import timezone
from django.utils.translation import gettext as _

from kmapp.accounts.actors import Actor
from kmapp.accounts.models import Account
from kmapp.accounts.redacted_text import redact_text
from kmapp.database.ids import uuid7
from kmapp.errors import Conflict, Invalid, NotFound
from kmapp.ledger.actions import Recording, recording
from kmapp.ledger.canonical import canonical
from rules.editing.rule_input import NewRule, refuse, refuse_large
from rules.models import Rule, RuleBook, RuleVersion

Event = RuleVersion.Event
RACES = 2
NAME_BASED_UUID_VERSION = 5  # the version of UUIDs that are digests
RULE_FIELDS = ("when", "then", "exceptions", "priority", "weight", "audience", "audience_id")
DESCRIPTION_FIELDS = ("name", "summary")


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenRules:
    """The rules of a write in the order of the request; `fresh` are those that are new."""

    rules: Sequence[Rule]
    fresh: frozenset[UUID]


def create(account_id: UUID, actor: Actor, draft: NewRule, *, reason: str = "") -> WrittenRules:
    """Write one rule, as a draft."""
    account = Account.objects.get(pk=account_id)
    lost: IntegrityError | None = None
    for _attempt in range(RACES):
        try:
            with (
                transaction.atomic(),
                recording(account_id, actor, reason=redact_text(reason, account.redact)) as commit,
            ):
                return write_in(account, [draft], commit)
        except IntegrityError as error:
            lost = error  # a concurrent request wrote this id: look again
    # An id that never becomes visible belongs to another account.
    raise Conflict(
        "Other requests keep writing the same client_ids. Try again, or use other ones."
    ) from lost


def write_in(account: Account, drafts: Sequence[NewRule], commit: Recording) -> WrittenRules:
    """Write drafts as part of a commit. The same client ids again change nothing."""
    keys = [draft.key_in(account.pk) for draft in drafts]
    _refuse_twins(drafts, keys)
    _refuse_foreign_ids(drafts)
    existing = _find_existing(account.pk, drafts, keys)
    created = {
        key: _rule(account, draft, key, commit)
        for key, draft in zip(keys, drafts, strict=True)
        if key not in existing
    }
    Rule.objects.bulk_create(sorted(created.values(), key=lambda rule: rule.pk))
    for rule in created.values():
        store_version(rule, commit, Event.ADD, commit.reason)
    if created:
        touch(account.pk, commit)
    return WrittenRules(
        rules=[existing.get(key) or created[key] for key in keys], fresh=frozenset(created)
    )


def _refuse_twins(drafts: Sequence[NewRule], keys: Sequence[UUID]) -> None:
    twins = [i for i, key in enumerate(keys) if key in keys[:i]]
    if twins:
        raise Invalid(
            "The same client_id or id occurs twice in this batch: send each rule once.",
            code="duplicate_client_id_in_batch",
            issues=[{"path": f"rules.{i}", "message": str(drafts[i].client_id)} for i in twins],
        )


def _refuse_foreign_ids(drafts: Sequence[NewRule]) -> None:
    """Refuse ids that are digests of names: they could take the place of another rule."""
    for draft in drafts:
        if draft.id and (draft.client_id or draft.id.version == NAME_BASED_UUID_VERSION):
            raise Invalid(
                "Send a client_id, or an id of your own making (UUID version 4 or 7).",
                issues=[{"path": "id", "message": "is not of your own making"}],
            )


def _find_existing(
    account_id: UUID, drafts: Sequence[NewRule], keys: Sequence[UUID]
) -> dict[UUID, Rule]:
    """Return the rules that exist already. Another body is a conflict."""
    if not any(draft.client_id or draft.id for draft in drafts):
        return {}
    existing = Rule.objects.of(account_id).in_bulk(list(keys))
    for key, draft in zip(keys, drafts, strict=True):
        if key in existing and not draft.is_of(existing[key].written_sha256):
            raise Conflict(
                "A rule with this client_id already exists with a different body. Change that rule "
                "instead.",
                code="client_id_conflict",
                details={"rule_node_id": str(key)},
            )
    return existing


def _rule(account: Account, draft: NewRule, key: UUID, commit: Recording) -> Rule:
    refuse_large(draft)
    columns = _columns(draft, account)
    client_id, sha256 = draft.client_id or None, draft.sha256()
    return _build_rule(
        commit,
        columns,
        id=key,
        lineage=key,
        scope=draft.scope,
        client_id=client_id,
        written_sha256=sha256,
    )


def _build_rule(commit: Recording, columns: Mapping[str, Any], **more: Any) -> Rule:
    now = timezone.now()
    return Rule(
        account_id=commit.account_id,
        commit_id=commit.id,
        written_in=commit.id,
        created_by=str(commit.actor),
        created_at=now,
        updated_at=now,
        **columns,
        **more,
    )


def _columns(draft: NewRule, account: Account) -> dict[str, Any]:
    """Return the columns. Only descriptions are redacted: a redacted condition would not match."""
    return {
        **{name: getattr(draft, name) for name in RULE_FIELDS},
        "name": redact_text(draft.name, account.redact)[:200],
        "summary": redact_text(draft.summary, account.redact),
        "exceptions": list(draft.exceptions),
    }


def edit(
    account_id: UUID,
    actor: Actor,
    rule_id: UUID,
    values: Mapping[str, Any],
    *,
    version: int | None = None,
    reason: str = "",
) -> Rule:
    """Change a rule. A rule that has been in shadow is frozen, so that it gets a new edition.

    Its name and summary do not affect agents, and change in place.
    """
    account = Account.objects.get(pk=account_id)
    rule = get_rule(account_id, rule_id)
    expect(rule, version)
    draft = replace(draft_of(rule), **values)
    refuse_large(draft)
    refuse(draft.issues())
    columns = _columns(draft, account)
    fresh = {name: value for name, value in columns.items() if value != getattr(rule, name)}
    if not fresh:
        return rule
    with recording(account_id, actor, reason=redact_text(reason, account.redact)) as commit:
        if rule.frozen and fresh.keys() & set(RULE_FIELDS):
            return _new_edition(rule, columns, commit)
        change(rule, commit, Event.UPDATE, fresh, commit.reason)
    return rule


def draft_of(rule: Rule) -> NewRule:
    return NewRule(
        **{name: getattr(rule, name) for name in (*DESCRIPTION_FIELDS, *RULE_FIELDS)},
        scope=rule.scope,
    )


def _new_edition(rule: Rule, columns: Mapping[str, Any], commit: Recording) -> Rule:
    editions = Rule.objects.of(rule.account_id).filter(lineage=rule.lineage)
    drafts = editions.filter(Q(state=Rule.State.DRAFT), edition__gt=rule.edition)
    if waiting := drafts.order_by("edition").first():
        raise Conflict(
            _("A newer edition of this rule is already a draft. Edit that draft."),
            code="newer_edition",
            details={"rule_node_id": str(waiting.pk)},
        )
    edition = 1 + editions.aggregate(last=Max("edition"))["last"]
    created = _build_rule(commit, columns, scope=rule.scope, lineage=rule.lineage, edition=edition)
    try:
        with transaction.atomic():
            created.save(force_insert=True)
    except IntegrityError as error:
        raise Conflict(
            _("Someone else created a new edition of this rule. Reload the page and try again."),
            code="stale_version",
        ) from error
    store_version(created, commit, Event.ADD, commit.reason)
    touch(rule.account_id, commit)
    return created


# --- Versions -------------------------------------------------------------------------------------


def get_rule(account_id: UUID, rule_id: UUID) -> Rule:
    rows = Rule.objects.of(account_id).with_verify_on_read(account_id)
    rule = rows.filter(pk=rule_id).first()
    if rule is None:
        raise NotFound(
            _("This rule does not exist, or you do not have access to it."),
            code="node_not_found_in_scope_or_visibility",
        )
    return rule


def store_version(rule: Rule, commit: Recording, event: str, reason: str = "") -> None:
    """Seal the present state of a rule and store it as a version."""
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
    """Set these values if nobody changed the rule since it was read."""
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
    """Count a change, so that processes compile the rules again."""
    if not RuleBook.objects.of(account_id).update(changes=F("changes") + 1):
        book = RuleBook(id=uuid7(), account_id=account_id, changes=1, commit_id=commit.id)
        fresh = RuleBook.objects.bulk_create([book], ignore_conflicts=True)
        if RuleBook.objects.of(account_id).filter(pk=fresh[0].pk).exists():
            commit.add(book, "ADD")
        else:
            RuleBook.objects.of(account_id).update(changes=F("changes") + 1)


def expect(rule: Rule, version: int | None) -> None:
    """Refuse a decision about another version than the person saw."""
    if version is not None and rule.version != version:
        raise Conflict(
            _("Someone else changed this rule. Reload the page and decide again."),
            code="stale_version",
            details={"version": rule.version, "state": rule.state},
        )
