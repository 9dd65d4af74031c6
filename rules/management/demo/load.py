"""Demo data of rules: active and shadow rules with decisions."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from kmapp.accounts.acting import acting
from kmapp.management.demo.actors import DemoActors
from rules.actions.decisions import RecordedSelection, record_selection
from rules.actions.feedback import ReportedOutcome, rate_decision
from rules.actions.rules import create_rule, update_rule
from rules.actions.state_changes import StateChange, change_state
from rules.editing.rule_input import NewRule
from rules.evaluation.matching import RuleViewer
from rules.evaluation.tool_selection import SelectionRequest
from rules.models import Rule, RuleFeedback

LABEL = _("Rules")
SUMMARY = """\
{new} rules added to {account}, with {asked} decisions.

  Rules in shadow, with the decisions they would change:
    {rules}?state=shadow
  Decisions, and conflicts between rules:
    {decisions}
    {conflicts}
"""
TRANSITIONS = {
    "draft": (),
    "shadow": ("shadow",),
    "active": ("shadow", "active"),
    "disabled": ("disabled",),
}
RATING_INTERVAL = 3  # every third decision
Outcome = RuleFeedback.Outcome


def list_data(account_id: UUID) -> QuerySet[Rule]:
    return Rule.objects.of(account_id)


def load_demo(actors: DemoActors) -> str:
    """Load the demo data once; decisions only for new rules. Return a summary with links."""
    data = json.loads(Path(__file__).with_name("rules.json").read_text())
    fresh = [rule for one in data["rules"] if (rule := _create_rule(actors, one))]
    decision_count = _create_decisions(actors, data) if fresh else 0
    if fresh:
        _create_edition(actors, data["edition"])
    return SUMMARY.format(
        new=len(fresh),
        account=actors.account.name,
        asked=decision_count,
        rules=actors.here + reverse("rules:rules"),
        decisions=actors.here + reverse("rules:decisions"),
        conflicts=actors.here + reverse("rules:conflicts"),
    )


def _create_rule(actors: DemoActors, data: Mapping[str, Any]) -> Rule | None:
    """Create a rule in its state, or return None if it exists."""
    draft = NewRule(
        client_id=f"demo-{data['id']}",
        name=data["name"],
        summary=data.get("summary", ""),
        when=data["if"],
        then=data["then"],
        exceptions=data.get("exceptions", ()),
        priority=data["priority"],
    )
    with acting(actors.account):
        written = create_rule(actors.account.pk, actors.agent, draft)
        rule = written.rules[0]
        if rule.pk not in written.created_ids:
            return None
        for state in TRANSITIONS[data["state"]]:
            rule = change_state(_build_state_change(actors, rule), state).rule
    return rule


def _build_state_change(actors: DemoActors, rule: Rule) -> StateChange:
    """Return a decision that overrides the gate with a stated reason."""
    return StateChange(
        account_id=actors.account.pk,
        rule_id=rule.pk,
        actor=actors.person,
        reason="Agreed among the tea masters. 茶师们商定的。",
        may_override=True,
    )


def _create_edition(actors: DemoActors, data: Mapping[str, Any]) -> None:
    """Create another edition of an active rule, as a draft."""
    with acting(actors.account):
        rule = Rule.objects.of(actors.account).get(client_id=f"demo-{data['of']}")
        update_rule(
            actors.account.pk, actors.person, rule.pk, {"when": data["if"]}, reason=data["reason"]
        )


def _create_decisions(actors: DemoActors, data: Mapping[str, Any]) -> int:
    decision_count = 0
    for turn in range(data["rounds"]):
        for context in data["contexts"]:
            question = SelectionRequest(
                context=context,
                viewer=RuleViewer(agent_id="concierge", app_id="lanternleaf-shop"),
                candidates=tuple(data["tools"]),
                strict=False,
            )
            with acting(actors.account):
                run = f"demo-run-{turn + 1}"
                recorded = record_selection(actors.account.pk, actors.agent, question, run_id=run)
                if decision_count % RATING_INTERVAL == 0:
                    _rate_selection(actors, recorded)
            decision_count += 1
    return decision_count


def _rate_selection(actors: DemoActors, recorded: RecordedSelection) -> None:
    """Rate a decision: with angry customers only asking the manager is good."""
    question, tool = recorded.evaluation.question, recorded.decision.selected_tool
    went_badly = question.context.get("mood") == "angry" and tool != "ask_manager"
    verdict = ReportedOutcome(
        account_id=actors.account.pk,
        actor=actors.agent,
        outcome=Outcome.NEGATIVE if went_badly else Outcome.POSITIVE,
        run_id=recorded.decision.run_id,
        target="all",
    )
    rate_decision(verdict, question, tool, recorded.decision.pk)
