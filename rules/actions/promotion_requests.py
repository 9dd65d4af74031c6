"""Promotion with two people: one requests it, another approves the same content."""

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _

from kmapp.errors import Conflict, Denied, NotFound
from kmapp.ledger.actions import Recording, recording
from kmapp.notifications.actions import notify
from rules.actions.notification_kinds import PROMOTION_REQUESTED
from rules.actions.state_changes import (
    StateChange,
    StateChangeResult,
    check_gate,
    check_transition,
    digest_reviewed_content,
    promote_rule,
)
from rules.models import Rule, RulePromotion
from rules.promotion.gate import load_settings

Status = RulePromotion.Status


def request_or_promote(change: StateChange) -> StateChangeResult | RulePromotion:
    """Promote the rule, or request its promotion if the account requires a second person."""
    if load_settings(change.account_id).second_person:
        return request_promotion(change)
    rule, editions = change.lock_editions()
    return promote_rule(change, rule, editions)


def request_promotion(change: StateChange) -> RulePromotion:
    """Request a promotion. An older request for the same rule is withdrawn."""
    rule, editions = change.lock_editions()
    check_transition(rule, Rule.State.ACTIVE)
    gate = check_gate(change, rule)
    reason = change.redacted_reason()
    pending = find_pending_request(rule)
    with recording(change.account_id, change.actor, reason=reason) as commit:
        if pending:
            _record_decision(pending, change, Status.WITHDRAWN, commit)
        request = RulePromotion(
            account_id=change.account_id,
            commit_id=commit.id,
            rule_id=rule.pk,
            seen_sha256=digest_reviewed_content(rule, editions),
            override=not gate.is_open,
            reason=reason,
            asked_by=str(change.actor),
            created_at=timezone.now(),
        )
        request.save(force_insert=True)
        commit.add(request, "ADD")
        notify(change.account_id, PROMOTION_REQUESTED, str(rule.pk))
    return request


def approve_request(change: StateChange, promotion_id: UUID) -> StateChangeResult:
    """Approve another person's request, unless the rule or its active edition changed since."""
    request, rule, editions = _lock_request(change, promotion_id)
    if request.asked_by == str(change.actor):
        raise Denied(_("You cannot approve a promotion that you requested."), code="self_approval")
    if is_void(request, rule, editions):
        raise Conflict(
            _(
                "The rule or its active edition changed after this request, so the request is no "
                "longer valid. Request promotion again."
            ),
            code="stale_approval",
        )
    approved = replace(change, rule_id=rule.pk, version=None, seen="", reason=request.reason)
    result = promote_rule(replace(approved, may_override=request.override), rule, editions)
    with recording(change.account_id, change.actor, reason=request.reason) as commit:
        _record_decision(request, change, Status.APPROVED, commit)
    return result


def withdraw_request(change: StateChange, promotion_id: UUID) -> RulePromotion:
    request, _rule, _editions = _lock_request(replace(change, version=None, seen=""), promotion_id)
    reason = change.redacted_reason()
    with recording(change.account_id, change.actor, reason=reason) as commit:
        _record_decision(request, change, Status.WITHDRAWN, commit)
    return request


def is_void(request: RulePromotion, rule: Rule, editions: Sequence[Rule]) -> bool:
    """Return whether the rule or its active edition changed after the request."""
    return request.seen_sha256 != digest_reviewed_content(rule, editions)


def find_pending_request(rule: Rule) -> RulePromotion | None:
    """Return the request that needs approval by a second person."""
    rows = RulePromotion.objects.of(rule.account_id).filter(rule=rule)
    return rows.filter(status=Status.WAITING).first()


def _lock_request(
    change: StateChange, promotion_id: UUID
) -> tuple[RulePromotion, Rule, list[Rule]]:
    """Lock a pending request with its rule and the rule's editions.

    The rule is always locked before the request, so that two transactions cannot deadlock.
    """
    rows = RulePromotion.objects.of(change.account_id).filter(pk=promotion_id)
    rule_id = rows.values_list("rule_id", flat=True).first()
    if rule_id is None:
        raise NotFound(_("This promotion request does not exist."))
    rule, editions = replace(change, rule_id=rule_id).lock_editions()
    request = rows.select_for_update(no_key=True, of=("self",)).get()
    if request.status != Status.WAITING:
        raise Conflict(
            _("Someone else has already decided this promotion request."), code="stale_version"
        )
    return request, rule, editions


def _record_decision(
    request: RulePromotion, change: StateChange, status: Status, commit: Recording
) -> None:
    request.status, request.decided_by = status, str(change.actor)
    request.decided_at, request.commit_id = timezone.now(), commit.id
    request.save(update_fields=["status", "decided_by", "decided_at", "commit"])
    commit.add(request, "APPROVE" if status == Status.APPROVED else "WITHDRAW")
