"""Creation and change of rules."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import Max, Q
from django.utils import timezone
from django.utils.translation import gettext as _

from kmapp.accounts.actors import Actor
from kmapp.accounts.models import Account
from kmapp.accounts.pii_redaction import redact_text
from kmapp.errors import Conflict, Invalid
from kmapp.ledger.actions import Recording, recording
from rules.actions.record_versions import (
    apply_change,
    check_version,
    count_change,
    get_rule,
    require_sealed_rules,
    store_version,
)
from rules.editing.rule_input import NewRule, validate_rule, validate_size
from rules.evaluation.equality import is_equal
from rules.models import Rule, RuleVersion

Event = RuleVersion.Event
MAX_ATTEMPTS = 2
NAME_BASED_UUID_VERSION = 5  # the version of UUIDs that are digests
RULE_FIELDS = ("when", "then", "exceptions", "priority", "weight", "audience", "audience_id")
DESCRIPTION_FIELDS = ("name", "summary")


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenRules:
    """The rules of a write in the order of the request; `created_ids` are those that are new."""

    rules: Sequence[Rule]
    created_ids: frozenset[UUID]


def create_rule(
    account_id: UUID, actor: Actor, draft: NewRule, *, reason: str = ""
) -> WrittenRules:
    """Write one rule, as a draft."""
    account = Account.objects.get(pk=account_id)
    lost: IntegrityError | None = None
    for _attempt in range(MAX_ATTEMPTS):
        try:
            with (
                transaction.atomic(),
                recording(account_id, actor, reason=redact_text(reason, account.redact)) as commit,
            ):
                return write_rules(account, [draft], commit)
        except IntegrityError as error:
            lost = error  # a concurrent request wrote this id: look again
    # An id that never becomes visible belongs to another account.
    raise Conflict(
        "Other requests keep writing the same client_ids. Try again, or use other ones."
    ) from lost


def write_rules(account: Account, drafts: Sequence[NewRule], commit: Recording) -> WrittenRules:
    """Write drafts as part of a commit. A draft whose client id exists already changes nothing."""
    keys = [draft.derive_id(account.pk) for draft in drafts]
    _check_duplicates(drafts, keys)
    _check_ids(drafts)
    existing = _find_existing(account.pk, drafts, keys)
    created = {
        key: _build_rule(account, draft, key, commit)
        for key, draft in zip(keys, drafts, strict=True)
        if key not in existing
    }
    Rule.objects.bulk_create(sorted(created.values(), key=lambda rule: rule.pk))
    for rule in created.values():
        store_version(rule, commit, Event.ADD)
    if created:
        count_change(account.pk, commit)
    return WrittenRules(
        rules=[existing.get(key) or created[key] for key in keys], created_ids=frozenset(created)
    )


def _check_duplicates(drafts: Sequence[NewRule], keys: Sequence[UUID]) -> None:
    duplicates = [i for i, key in enumerate(keys) if key in keys[:i]]
    if duplicates:
        raise Invalid(
            "The same client_id or id occurs twice in this batch: send each rule once.",
            code="duplicate_client_id_in_batch",
            issues=[
                {"path": f"rules.{i}", "message": str(drafts[i].client_id)} for i in duplicates
            ],
        )


def _check_ids(drafts: Sequence[NewRule]) -> None:
    """Refuse ids that are digests of names: they could take the place of another rule."""
    for draft in drafts:
        if draft.id and (draft.client_id or draft.id.version == NAME_BASED_UUID_VERSION):
            raise Invalid(
                "Send a client_id, or a random id (UUID version 4 or 7).",
                issues=[{"path": "id", "message": "must be random, without a client_id"}],
            )


def _find_existing(
    account_id: UUID, drafts: Sequence[NewRule], keys: Sequence[UUID]
) -> dict[UUID, Rule]:
    """Return the rules that exist already.

    Raises Conflict if one has a different body, or differs from its seal.
    """
    if not any(draft.client_id or draft.id for draft in drafts):
        return {}
    rows = Rule.objects.of(account_id).with_verify_on_read(account_id)
    existing = rows.in_bulk(list(keys))
    require_sealed_rules([*existing.values()])
    for key, draft in zip(keys, drafts, strict=True):
        if key in existing and not draft.has_digest(existing[key].written_sha256):
            raise Conflict(
                "A rule with this client_id already exists with a different body. Change that rule "
                "instead.",
                code="client_id_conflict",
                details={"rule_node_id": str(key)},
            )
    return existing


def _build_rule(account: Account, draft: NewRule, key: UUID, commit: Recording) -> Rule:
    validate_size(draft)
    columns = _build_columns(draft, account)
    client_id, sha256 = draft.client_id or None, draft.digest()
    return _build_row(
        commit,
        columns,
        id=key,
        lineage=key,
        scope=draft.scope,
        client_id=client_id,
        written_sha256=sha256,
    )


def _build_row(commit: Recording, columns: Mapping[str, Any], **more: Any) -> Rule:
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


def _build_columns(draft: NewRule, account: Account) -> dict[str, Any]:
    """Return the columns. Only descriptions are redacted: a redacted condition would not match."""
    return {
        **{name: getattr(draft, name) for name in RULE_FIELDS},
        "name": redact_text(draft.name, account.redact)[:200],
        "summary": redact_text(draft.summary, account.redact),
        "exceptions": list(draft.exceptions),
    }


def update_rule(
    account_id: UUID,
    actor: Actor,
    rule_id: UUID,
    values: Mapping[str, Any],
    *,
    version: int | None = None,
    reason: str = "",
) -> Rule:
    """Change a rule, or create a new edition of one whose definition is frozen.

    The name and summary of a frozen rule change in place, unless it is or was active and an API key
    changes them: agents read them, and a rollback can restore a formerly active rule.
    """
    account = Account.objects.get(pk=account_id)
    rule = get_rule(account_id, rule_id)
    require_sealed_rules([rule])
    check_version(rule, version)
    draft = replace(build_draft(rule), **values)
    validate_size(draft)
    validate_rule(draft)
    columns = _build_columns(draft, account)
    changed = {
        name: value for name, value in columns.items() if not is_equal(value, getattr(rule, name))
    }
    if not changed:
        return rule
    with recording(account_id, actor, reason=redact_text(reason, account.redact)) as commit:
        is_protected = rule.activated_at is not None and actor.kind == "key"
        if rule.frozen and (is_protected or changed.keys() & set(RULE_FIELDS)):
            return _create_edition(rule, columns, commit)
        apply_change(rule, commit, Event.UPDATE, changed)
    return rule


def build_draft(rule: Rule) -> NewRule:
    return NewRule(
        **{name: getattr(rule, name) for name in (*DESCRIPTION_FIELDS, *RULE_FIELDS)},
        scope=rule.scope,
    )


def _create_edition(rule: Rule, columns: Mapping[str, Any], commit: Recording) -> Rule:
    editions = Rule.objects.of(rule.account_id).filter(lineage=rule.lineage)
    drafts = editions.filter(Q(state=Rule.State.DRAFT), edition__gt=rule.edition)
    if newer_draft := drafts.order_by("edition").first():
        raise Conflict(
            _("A newer edition of this rule is already a draft. Edit that draft."),
            code="newer_edition",
            details={"rule_node_id": str(newer_draft.pk)},
        )
    edition = 1 + editions.aggregate(last=Max("edition"))["last"]
    created = _build_row(commit, columns, scope=rule.scope, lineage=rule.lineage, edition=edition)
    try:
        with transaction.atomic():
            created.save(force_insert=True)
    except IntegrityError as error:
        raise Conflict(
            _("Someone else created a new edition of this rule. Reload the page and try again."),
            code="stale_version",
        ) from error
    store_version(created, commit, Event.ADD)
    count_change(rule.account_id, commit)
    return created
