"""Promotion with two people: one requests, another approves exactly that."""

from dataclasses import replace
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _

from kmapp.errors import Conflict, Denied, NotFound
from kmapp.ledger.actions import Recording, recording
from kmapp.notifications.actions import notify
from rules.actions.notification_kinds import PROMOTION_REQUESTED
from rules.actions.states import Decision, Moved, passed, promote, refuse_leaps, seen_sha256
from rules.models import Rule, RulePromotion
from rules.promotion.evidence import book_of

Status = RulePromotion.Status


def request_or_promote(decision: Decision) -> Moved | RulePromotion:
    """Promote, or request it if the account requires a second person."""
    if book_of(decision.account_id).second_person:
        return request_promotion(decision)
    rule, editions = decision.editions()
    return promote(decision, rule, editions)


def request_promotion(decision: Decision) -> RulePromotion:
    """Request a promotion. An older request for the same rule is withdrawn."""
    rule, editions = decision.editions()
    refuse_leaps(rule, Rule.State.ACTIVE)
    gate = passed(decision, rule)
    reason = decision.redacted_reason()
    waiting = find_waiting(rule)
    with recording(decision.account_id, decision.actor, reason=reason) as commit:
        if waiting:
            _decide(waiting, decision, Status.WITHDRAWN, commit)
        request = RulePromotion(
            account_id=decision.account_id,
            commit_id=commit.id,
            rule_id=rule.pk,
            seen_sha256=seen_sha256(rule, editions),
            override=not gate.open,
            reason=reason,
            asked_by=str(decision.actor),
            created_at=timezone.now(),
        )
        request.save(force_insert=True)
        commit.add(request, "ADD")
        notify(decision.account_id, PROMOTION_REQUESTED, str(rule.pk))
    return request


def approve(decision: Decision, promotion_id: UUID) -> Moved:
    """Approve the request of another person, if it still applies to what they saw."""
    request, rule, editions = _lock_request(decision, promotion_id)
    if request.asked_by == str(decision.actor):
        raise Denied(_("You cannot approve a promotion that you requested."), code="self_approval")
    if request.seen_sha256 != seen_sha256(rule, editions):
        raise Conflict(
            _(
                "The rule or its active edition changed after this request, so the request is no "
                "longer valid. Request promotion again."
            ),
            code="stale_approval",
        )
    approved = replace(decision, rule_id=rule.pk, version=None, seen="", reason=request.reason)
    moved = promote(replace(approved, may_override=request.override), rule, editions)
    with recording(decision.account_id, decision.actor, reason=request.reason) as commit:
        _decide(request, decision, Status.APPROVED, commit)
    return moved


def withdraw(decision: Decision, promotion_id: UUID) -> RulePromotion:
    request, _rule, _editions = _lock_request(
        replace(decision, version=None, seen=""), promotion_id
    )
    reason = decision.redacted_reason()
    with recording(decision.account_id, decision.actor, reason=reason) as commit:
        _decide(request, decision, Status.WITHDRAWN, commit)
    return request


def waiting_for(rule: Rule) -> tuple[RulePromotion | None, bool]:
    """Return the pending request and whether it is void."""
    request = find_waiting(rule)
    if request is None:
        return None, False
    editions = list(Rule.objects.of(rule.account_id).filter(lineage=rule.lineage))
    return request, request.seen_sha256 != seen_sha256(rule, editions)


def find_waiting(rule: Rule) -> RulePromotion | None:
    """Return the request that waits for a second person."""
    rows = RulePromotion.objects.of(rule.account_id).filter(rule=rule)
    return rows.filter(status=Status.WAITING).first()


def _lock_request(decision: Decision, promotion_id: UUID) -> tuple[RulePromotion, Rule, list[Rule]]:
    """Lock a pending request with its rule and the rule's editions.

    The rule is always locked before the request, so that two transactions cannot deadlock.
    """
    rows = RulePromotion.objects.of(decision.account_id).filter(pk=promotion_id)
    rule_id = rows.values_list("rule_id", flat=True).first()
    if rule_id is None:
        raise NotFound(_("This promotion request does not exist."))
    rule, editions = replace(decision, rule_id=rule_id).editions()
    request = rows.select_for_update(no_key=True, of=("self",)).get()
    if request.status != Status.WAITING:
        raise Conflict(
            _("Someone else has already decided this promotion request."), code="stale_version"
        )
    return request, rule, editions


def _decide(request: RulePromotion, decision: Decision, status: Status, commit: Recording) -> None:
    request.status, request.decided_by = status, str(decision.actor)
    request.decided_at, request.commit_id = timezone.now(), commit.id
    request.save(update_fields=["status", "decided_by", "decided_at", "commit"])
    commit.add(request, "APPROVE" if status == Status.APPROVED else "WITHDRAW")
