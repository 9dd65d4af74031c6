"""State changes of rules: draft, shadow, active and back."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _

from kmapp.accounts.actors import Actor
from kmapp.accounts.redacted_text import redacted_reason
from kmapp.errors import Conflict, Denied, Invalid
from kmapp.ledger.actions import Recording, recording
from kmapp.ledger.canonical import canonical
from kmapp.ledger.models import Commit
from rules.actions.rules import change, draft_of, expect, get_rule
from rules.editing.rule_input import refuse
from rules.models import Rule, RuleVersion
from rules.promotion.evidence import Gate, book_of, evidence_of, gate_of

Event = RuleVersion.Event
State = Rule.State
EVENTS = {
    (State.ACTIVE, State.SHADOW): Event.DEMOTE,
    State.SHADOW: Event.SHADOW,
    State.DRAFT: Event.WITHDRAW,
    State.DISABLED: Event.DISABLE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A request of a person or a key to change the state of a rule."""

    account_id: UUID
    rule_id: UUID
    actor: Actor
    version: int | None = None  # None: any version
    seen: str = ""  # `seen_sha256` of the rule and its active edition; empty: any
    reason: str = ""
    may_override: bool = False  # pass the evidence gate without enough evidence
    may_touch_live: bool = True  # activate and deactivate rules, as admins and keys may

    def redacted_reason(self) -> str:
        return redacted_reason(self.account_id, self.reason)

    def refuse_live(self, rule: Rule, to: str = "") -> None:
        if State.ACTIVE in (rule.state, to) and not self.may_touch_live:
            raise Denied(_("Only an admin of this account can promote or change active rules."))

    def editions(self) -> tuple[Rule, list[Rule]]:
        """Return the rule and its editions, locked until the transaction ends."""
        lineage = get_rule(self.account_id, self.rule_id).lineage
        held = Rule.objects.of(self.account_id).select_for_update(no_key=True)
        editions = list(held.filter(lineage=lineage).order_by("edition"))
        [rule] = [one for one in editions if one.pk == self.rule_id]
        expect(rule, self.version)
        if self.seen and self.seen != seen_sha256(rule, editions):
            raise Conflict(
                _(
                    "The active edition changed after you opened this page. Reload the page and "
                    "decide again."
                ),
                code="stale_version",
            )
        return rule, editions


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    rule: Rule
    commit: Commit
    replaced: Rule | None = None


def move(decision: Decision, to: str) -> Moved:
    """Move a rule to a state, unless it is in it already."""
    rule, editions = decision.editions()
    if rule.state == to:
        return Moved(rule=rule, commit=Commit.objects.of(rule.account_id).get(pk=rule.commit_id))
    decision.refuse_live(rule, to)
    refuse_leaps(rule, to)
    if to == State.ACTIVE:
        if book_of(decision.account_id).second_person:
            raise Conflict(
                _(
                    "Promotions in this account need approval by a second person. "
                    "Request promotion on the rule's page."
                ),
                code="second_person_required",
            )
        return promote(decision, rule, editions)
    if to == State.SHADOW:
        refuse(draft_of(rule).issues())
    reason = decision.redacted_reason()
    with recording(decision.account_id, decision.actor, reason=reason) as commit:
        seen = State(rule.state)
        event = EVENTS.get((seen, State(to))) or EVENTS[State(to)]
        since = {"shadowed_at": timezone.now()} if to == State.SHADOW else {}
        change(rule, commit, event, {"state": to, "replaced": None, **since}, reason)
    return Moved(rule=rule, commit=_get_commit(commit))


def refuse_leaps(rule: Rule, to: str) -> None:
    seen = State(rule.state)
    if seen.may_become(to):
        return
    if to == State.ACTIVE:
        raise Conflict(
            _("A rule must run in shadow before it can be active. Move it to shadow first."),
            code="shadow_first",
            details={"state": rule.state},
        )
    raise Conflict(
        _("A rule in state “%(state)s” cannot move to “%(to)s”.")
        % {"state": seen.label, "to": State(to).label},
        code="wrong_state",
        details={"state": rule.state},
    )


def promote(decision: Decision, rule: Rule, editions: Sequence[Rule]) -> Moved:
    """Activate a shadow rule instead of its active edition, if it passes the evidence gate."""
    refuse_leaps(rule, State.ACTIVE)
    decision.refuse_live(rule, State.ACTIVE)
    refuse(draft_of(rule).issues())
    gate = passed(decision, rule)
    reason = decision.redacted_reason()
    live = _active_edition(editions)
    values = {"promote": str(rule.pk), "past_the_gate": not gate.open}
    with recording(decision.account_id, decision.actor, input=values, reason=reason) as commit:
        if live:
            change(live, commit, Event.REPLACE, {"state": State.DISABLED}, reason)
        activated = {"state": State.ACTIVE, "activated_at": timezone.now()}
        replaced = live.pk if live else None
        change(rule, commit, Event.PROMOTE, {**activated, "replaced": replaced}, reason)
    return Moved(rule=rule, commit=_get_commit(commit), replaced=live)


def passed(decision: Decision, rule: Rule) -> Gate:
    """Return the gate if this decision may pass it; a reason is required."""
    if not decision.reason.strip():
        raise Invalid(
            _("Enter a reason for promoting this rule. It is recorded in the ledger."),
            code="reason_required",
            issues=[{"path": "reason", "message": "is required"}],
        )
    gate = gate_of(evidence_of(rule), book_of(decision.account_id))
    if not gate.open and not decision.may_override:
        raise Conflict(
            _("Not enough evidence yet. %(missing)s") % {"missing": " ".join(gate.missing)},
            code="evidence_gate",
            details={"missing": list(gate.missing), **gate.needs},
        )
    return gate


def rollback(decision: Decision) -> Moved:
    """Undo a promotion: the rule is in shadow again, and the edition it replaced is active."""
    rule, editions = decision.editions()
    decision.refuse_live(rule)
    if rule.state != State.ACTIVE:
        raise Conflict(
            _("This rule is not active, so there is nothing to roll back."), code="wrong_state"
        )
    reason = decision.redacted_reason()
    before = next(
        (one for one in editions if one.pk == rule.replaced and one.state == State.DISABLED), None
    )
    now = timezone.now()
    with recording(decision.account_id, decision.actor, reason=reason) as commit:
        back = {"state": State.SHADOW, "shadowed_at": now, "replaced": None}
        change(rule, commit, Event.ROLLBACK, back, reason)
        if before:
            again = {"state": State.ACTIVE, "activated_at": now}
            change(before, commit, Event.RESTORE, again, reason)
    return Moved(rule=rule, commit=_get_commit(commit), replaced=before)


def seen_sha256(rule: Rule, editions: Sequence[Rule]) -> str:
    """Return the digest of what is approved: the rule and the active edition."""
    live = _active_edition(editions)
    seen = {
        "rule": [rule.pk, rule.version, rule.definition()],
        "live": [live.pk, live.version] if live else None,
    }
    return hashlib.sha256(canonical(seen)).hexdigest()


def _active_edition(editions: Sequence[Rule]) -> Rule | None:
    return next((one for one in editions if one.state == State.ACTIVE), None)


def _get_commit(commit: Recording) -> Commit:
    assert commit.commit is not None  # noqa: S101 - it had something to record
    return commit.commit
