"""The demo's rules: some that count, some that watch, and what agents asked of them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.urls import reverse

from kmapp.accounts.acting import acting
from kmapp.management.demo_actors import Cast
from rules.actions.decisions import Decided, decide
from rules.actions.feedback import Verdict, rate_decision
from rules.actions.rules import create, edit
from rules.actions.states import Decision, move
from rules.editing.rule_input import NewRule
from rules.evaluation.evaluate import Question
from rules.evaluation.matching import Viewer
from rules.models import Rule, RuleFeedback

TOLD = """\
{new} rules are new in {account}; agents asked them {asked} times.

  Those that watch, with what they would have changed:
    {rules}?state=shadow
  Each decision, and where rules disagree:
    {decisions}
    {conflicts}
"""
WAY = {
    "draft": (),
    "shadow": ("shadow",),
    "active": ("shadow", "active"),
    "disabled": ("disabled",),
}
RATED = 3  # every third decision
Outcome = RuleFeedback.Outcome


def tell(cast: Cast) -> str:
    """Tell it once: decisions only for rules that are new. Returns what to look at."""
    told = json.loads(Path(__file__).with_name("rules.json").read_text())
    fresh = [rule for one in told["rules"] if (rule := _write(cast, one))]
    asked = _ask(cast, told) if fresh else 0
    if fresh:
        _change(cast, told["edition"])
    return TOLD.format(
        new=len(fresh),
        account=cast.account.name,
        asked=asked,
        rules=cast.here + reverse("rules:rules"),
        decisions=cast.here + reverse("rules:decisions"),
        conflicts=cast.here + reverse("rules:conflicts"),
    )


def _write(cast: Cast, told: Mapping[str, Any]) -> Rule | None:
    """The rule, brought to its state; None if it was there already."""
    draft = NewRule(
        client_id=f"demo-{told['id']}",
        name=told["name"],
        summary=told.get("summary", ""),
        when=told["if"],
        then=told["then"],
        exceptions=told.get("exceptions", ()),
        priority=told["priority"],
    )
    with acting(cast.account):
        written = create(cast.account.pk, cast.agent, draft)
        rule = written.rules[0]
        if rule.pk not in written.fresh:
            return None
        for state in WAY[told["state"]]:
            rule = move(_decision(cast, rule), state).rule
    return rule


def _decision(cast: Cast, rule: Rule) -> Decision:
    """A demo has no evidence to wait for, and says so."""
    return Decision(
        account_id=cast.account.pk,
        rule_id=rule.pk,
        actor=cast.person,
        reason="Agreed among the tea masters. 茶师们商定的。",
        may_override=True,
    )


def _change(cast: Cast, told: Mapping[str, Any]) -> None:
    """Another edition of one that counts, as a draft."""
    with acting(cast.account):
        rule = Rule.objects.of(cast.account).get(client_id=f"demo-{told['of']}")
        edit(cast.account.pk, cast.person, rule.pk, {"when": told["if"]}, reason=told["reason"])


def _ask(cast: Cast, told: Mapping[str, Any]) -> int:
    """What agents are about to do, again and again, and how some of it went."""
    asked = 0
    for turn in range(told["rounds"]):
        for context in told["contexts"]:
            question = Question(
                context=context,
                viewer=Viewer(agent_id="concierge", app_id="lanternleaf-shop"),
                candidates=tuple(told["tools"]),
                strict=False,
            )
            with acting(cast.account):
                run = f"demo-run-{turn + 1}"
                decided = decide(cast.account.pk, cast.agent, question, run_id=run)
                if asked % RATED == 0:
                    _rate(cast, decided)
            asked += 1
    return asked


def _rate(cast: Cast, decided: Decided) -> None:
    """Angry customers were glad of a person, and of nothing else."""
    question, tool = decided.answer.question, decided.decision.selected_tool
    went_badly = question.context.get("mood") == "angry" and tool != "ask_manager"
    verdict = Verdict(
        account_id=cast.account.pk,
        actor=cast.agent,
        outcome=Outcome.NEGATIVE if went_badly else Outcome.POSITIVE,
        run_id=decided.decision.run_id,
        target="all",
    )
    rate_decision(verdict, question, tool, decided.decision.pk)
