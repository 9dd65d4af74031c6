"""State changes of rules: draft, shadow, active and back."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _

from kmapp.accounts.actors import Actor
from kmapp.accounts.pii_redaction import redact_reason
from kmapp.accounts.scopes import Scope
from kmapp.errors import Conflict, Denied, Invalid
from kmapp.ledger.actions import Recording, recording
from kmapp.ledger.canonical import encode_canonical
from kmapp.ledger.models import Commit
from rules.actions.record_versions import (
    apply_change,
    check_version,
    get_rule,
    require_sealed_rules,
)
from rules.actions.rules import build_draft
from rules.editing.rule_input import validate_rule
from rules.models import Rule, RuleVersion
from rules.promotion.evidence import load_evidence
from rules.promotion.gate import Gate, evaluate_gate, load_settings

Event = RuleVersion.Event
State = Rule.State
EVENTS = {
    (State.ACTIVE, State.SHADOW): Event.DEMOTE,
    State.SHADOW: Event.SHADOW,
    State.DRAFT: Event.WITHDRAW,
    State.DISABLED: Event.DISABLE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StateChange:
    """A request of a person or a key to change the state of a rule."""

    account_id: UUID
    rule_id: UUID
    actor: Actor
    version: int | None = None  # None: any version
    seen: str = ""  # `digest_reviewed_content` of the rule and its active edition; empty: any
    reason: str = ""
    may_override: bool = False  # pass the evidence gate without enough evidence
    # Activate and deactivate rules, as admins and keys with the scope rules:override may.
    may_change_active: bool = True

    def redacted_reason(self) -> str:
        return redact_reason(self.account_id, self.reason)

    def check_permission(self, rule: Rule, to: str = "") -> None:
        if State.ACTIVE not in (rule.state, to) or self.may_change_active:
            return
        if self.actor.kind == "key":
            raise Denied(
                _(
                    "Only an admin of this account or a key with the scope rules:override can "
                    "promote or change active rules. Use such a key, or ask an admin to decide on "
                    "the page of the rule."
                ),
                code="missing_scope",
                details={"scope": Scope.RULES_OVERRIDE.value},
            )
        raise Denied(_("Only an admin of this account can promote or change active rules."))

    def lock_editions(self) -> tuple[Rule, list[Rule]]:
        """Return the rule and its editions, locked until the transaction ends."""
        lineage = get_rule(self.account_id, self.rule_id).lineage
        rows = Rule.objects.of(self.account_id).with_verify_on_read(self.account_id)
        rows = rows.select_for_update(no_key=True)
        editions = list(rows.filter(lineage=lineage).order_by("edition"))
        [rule] = [one for one in editions if one.pk == self.rule_id]
        require_sealed_rules([rule])
        check_version(rule, self.version)
        if self.seen and self.seen != digest_reviewed_content(rule, editions):
            raise Conflict(
                _(
                    "The active edition changed after you opened this page. Reload the page and "
                    "decide again."
                ),
                code="stale_version",
            )
        return rule, editions


@dataclass(frozen=True, slots=True, kw_only=True)
class StateChangeResult:
    rule: Rule
    commit: Commit
    replaced: Rule | None = None


def change_state(change: StateChange, to: str) -> StateChangeResult:
    """Move a rule to a state, unless it is in it already."""
    rule, editions = change.lock_editions()
    if rule.state == to:
        return StateChangeResult(
            rule=rule, commit=Commit.objects.of(rule.account_id).get(pk=rule.commit_id)
        )
    change.check_permission(rule)
    check_transition(rule, to)
    if to == State.ACTIVE:
        if load_settings(change.account_id).second_person:
            raise Conflict(
                _(
                    "Promotions in this account need approval by a second person. "
                    "Request promotion on the rule's page."
                ),
                code="second_person_required",
            )
        return promote_rule(change, rule, editions)
    if to == State.SHADOW:
        validate_rule(build_draft(rule))
    with recording(change.account_id, change.actor, reason=change.redacted_reason()) as commit:
        current = State(rule.state)
        event = EVENTS.get((current, State(to))) or EVENTS[State(to)]
        entered = {"shadowed_at": timezone.now()} if to == State.SHADOW else {}
        apply_change(rule, commit, event, {"state": to, "replaced": None, **entered})
    return StateChangeResult(rule=rule, commit=_get_commit(commit))


def check_transition(rule: Rule, to: str) -> None:
    current = State(rule.state)
    if current.may_become(to):
        return
    if to == State.ACTIVE:
        raise Conflict(
            _("A rule must run in shadow before it can be active. Move it to shadow first."),
            code="shadow_first",
            details={"state": rule.state},
        )
    raise Conflict(
        _("A rule in state “%(state)s” cannot move to “%(to)s”.")
        % {"state": current.label, "to": State(to).label},
        code="wrong_state",
        details={"state": rule.state},
    )


def promote_rule(change: StateChange, rule: Rule, editions: Sequence[Rule]) -> StateChangeResult:
    """Activate a shadow rule instead of its active edition, if it passes the evidence gate.

    The permission is checked as well, because an agent can create all evidence for its own rule.
    """
    check_transition(rule, State.ACTIVE)
    validate_rule(build_draft(rule))
    gate = check_gate(change, rule)
    change.check_permission(rule, State.ACTIVE)
    reason = change.redacted_reason()
    active = _find_active_edition(editions)
    values = {"promote": str(rule.pk), "past_the_gate": not gate.is_open}
    with recording(change.account_id, change.actor, input=values, reason=reason) as commit:
        if active:
            apply_change(active, commit, Event.REPLACE, {"state": State.DISABLED})
        activated = {"state": State.ACTIVE, "activated_at": timezone.now()}
        replaced = active.pk if active else None
        apply_change(rule, commit, Event.PROMOTE, {**activated, "replaced": replaced})
    return StateChangeResult(rule=rule, commit=_get_commit(commit), replaced=active)


def check_gate(change: StateChange, rule: Rule) -> Gate:
    """Return the gate for a promotion.

    Raises Invalid without a reason, and Conflict if the gate is closed and not overridden.
    """
    if not change.reason.strip():
        raise Invalid(
            _("Enter a reason for promoting this rule. It is recorded in the ledger."),
            code="reason_required",
            issues=[{"path": "reason", "message": "is required"}],
        )
    gate = evaluate_gate(load_evidence(rule), load_settings(change.account_id))
    if not gate.is_open and not change.may_override:
        raise Conflict(
            _("Not enough evidence yet. %(missing)s") % {"missing": " ".join(gate.missing)},
            code="evidence_gate",
            details={"missing": list(gate.missing), **gate.thresholds},
        )
    return gate


def roll_back_rule(change: StateChange) -> StateChangeResult:
    """Undo a promotion: the rule is in shadow again, and the edition it replaced is active."""
    rule, editions = change.lock_editions()
    change.check_permission(rule)
    if rule.state != State.ACTIVE:
        raise Conflict(
            _("This rule is not active, so there is nothing to roll back."), code="wrong_state"
        )
    previous = find_previous_edition(rule, editions)
    now = timezone.now()
    with recording(change.account_id, change.actor, reason=change.redacted_reason()) as commit:
        to_shadow = {"state": State.SHADOW, "shadowed_at": now, "replaced": None}
        apply_change(rule, commit, Event.ROLLBACK, to_shadow)
        if previous:
            to_active = {"state": State.ACTIVE, "activated_at": now}
            apply_change(previous, commit, Event.RESTORE, to_active)
    return StateChangeResult(rule=rule, commit=_get_commit(commit), replaced=previous)


def find_previous_edition(rule: Rule, editions: Sequence[Rule]) -> Rule | None:
    """Return the edition that a rollback of the rule activates again, whatever its state is now.

    Its definition is frozen, because it has been in shadow. Its state may have been changed by a
    key that cannot change active rules; the rollback must still leave one edition active.
    """
    return next((one for one in editions if one.pk == rule.replaced), None)


def digest_reviewed_content(rule: Rule, editions: Sequence[Rule]) -> str:
    """Return the digest of what is approved: the rule and the active edition."""
    active = _find_active_edition(editions)
    content = {
        "rule": [rule.pk, rule.version, rule.definition()],
        "live": [active.pk, active.version] if active else None,
    }
    return hashlib.sha256(encode_canonical(content)).hexdigest()


def _find_active_edition(editions: Sequence[Rule]) -> Rule | None:
    return next((one for one in editions if one.state == State.ACTIVE), None)


def _get_commit(commit: Recording) -> Commit:
    assert commit.commit is not None  # noqa: S101 - it had something to record
    return commit.commit
