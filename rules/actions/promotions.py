"""Four eyes: one person asks for a promotion, another one approves exactly that."""

from dataclasses import replace
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _

from kmapp.accounts.models import AccountQuerySet
from kmapp.errors import Conflict, Denied, NotFound
from kmapp.ledger.actions import recording
from rules.actions.states import Decision, Moved, passed, promote, seen_sha256
from rules.models import Rule, RulePromotion
from rules.promotion.evidence import book_of

Status = RulePromotion.Status


def ask_or_promote(decision: Decision) -> Moved | RulePromotion:
    """Promote; where a second person approves, ask for that."""
    if book_of(decision.account_id).second_person:
        return ask(decision)
    rule, editions = decision.editions()
    return promote(decision, rule, editions)


def ask(decision: Decision) -> RulePromotion:
    """Put a promotion before a second person. An older wish for the same rule is withdrawn."""
    rule, editions = decision.editions()
    if not Rule.State(rule.state).may_become(Rule.State.ACTIVE):
        raise Conflict(
            _("A rule watches before it counts: set it to shadow first."), code="shadow_first"
        )
    gate = passed(decision, rule)
    reason = decision.redacted_reason()
    waiting = _waiting(decision.account_id).filter(rule_id=rule.pk).first()
    with recording(decision.account_id, decision.actor, reason=reason) as commit:
        now = timezone.now()
        if waiting:
            _settle(waiting, decision, Status.WITHDRAWN, commit.id)
            commit.add(waiting, "WITHDRAW")
        wish = RulePromotion(
            account_id=decision.account_id,
            commit_id=commit.id,
            rule_id=rule.pk,
            seen_sha256=seen_sha256(rule, editions),
            override=not gate.open,
            reason=reason,
            asked_by=str(decision.actor),
            created_at=now,
        )
        wish.save(force_insert=True)
        commit.add(wish, "ADD")
    return wish


def approve(decision: Decision, promotion_id: UUID) -> Moved:
    """Approve what another person asked for, if it still is what they saw."""
    wish, rule, editions = _held(decision, promotion_id)
    if wish.asked_by == str(decision.actor):
        raise Denied(_("Who asks for a promotion cannot approve it."), code="self_approval")
    if wish.seen_sha256 != seen_sha256(rule, editions):
        raise Conflict(
            _("The rule or what is live has changed since: this approval is void. Ask again."),
            code="stale_approval",
        )
    kept = replace(decision, rule_id=rule.pk, version=None, seen="", reason=wish.reason)
    moved = promote(replace(kept, may_override=wish.override), rule, editions)
    with recording(decision.account_id, decision.actor, reason=wish.reason) as commit:
        _settle(wish, decision, Status.APPROVED, commit.id)
        commit.add(wish, "APPROVE")
    return moved


def withdraw(decision: Decision, promotion_id: UUID) -> RulePromotion:
    wish, _rule, _editions = _held(replace(decision, version=None, seen=""), promotion_id)
    with recording(
        decision.account_id, decision.actor, reason=decision.redacted_reason()
    ) as commit:
        _settle(wish, decision, Status.WITHDRAWN, commit.id)
        commit.add(wish, "WITHDRAW")
    return wish


def waiting_for(rule: Rule) -> tuple[RulePromotion | None, bool]:
    """The wish that waits for a second person, and whether it is void."""
    wish = _waiting(rule.account_id).filter(rule_id=rule.pk).first()
    if wish is None:
        return None, False
    editions = list(Rule.objects.of(rule.account_id).filter(lineage=rule.lineage))
    return wish, wish.seen_sha256 != seen_sha256(rule, editions)


def _waiting(account_id: UUID) -> "AccountQuerySet[RulePromotion]":
    return RulePromotion.objects.of(account_id).filter(status=Status.WAITING)


def _held(decision: Decision, promotion_id: UUID) -> tuple[RulePromotion, Rule, list[Rule]]:
    """A wish that waits, its rule, and the rule's editions.

    Everybody holds the rule before the wish: nobody waits for one who waits for them.
    """
    rows = RulePromotion.objects.of(decision.account_id).filter(pk=promotion_id)
    rule_id = rows.values_list("rule_id", flat=True).first()
    if rule_id is None:
        raise NotFound(_("There is no such wish for a promotion."))
    rule, editions = replace(decision, rule_id=rule_id).editions()
    wish = rows.select_for_update(no_key=True, of=("self",)).get()
    if wish.status != Status.WAITING:
        raise Conflict(_("Somebody decided about this promotion first."), code="stale_version")
    return wish, rule, editions


def _settle(wish: RulePromotion, decision: Decision, status: str, commit_id: UUID) -> None:
    wish.status, wish.decided_by, wish.decided_at = status, str(decision.actor), timezone.now()
    wish.commit_id = commit_id
    wish.save(update_fields=["status", "decided_by", "decided_at", "commit"])
