"""The life of rules: drafted, edited, tried in shadow, activated, replaced, rolled back."""

from contextlib import nullcontext
from io import StringIO
from uuid import uuid4

import hypothesis
import pytest
from django.core.management import call_command
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import Actor
from kmapp.errors import Conflict, Denied, DomainError
from rules.actions.promotion_requests import (
    approve_request,
    request_promotion,
    withdraw_request,
)
from rules.models import RuleStatistics
from tests import makers
from tests.stateful import forms, need, run, step
from tests.stateful.rule_model import Edition, ModelledAccount

TOOLS = ("bash", "curl", "grep", "vim")  # a rule denies one of the first three
MOVES = {
    "draft": {"shadow", "disabled"},
    "shadow": {"active", "draft", "disabled"},
    "active": {"shadow", "disabled"},
    "disabled": {"draft", "shadow"},
}

OUTCOMES = ("positive", "neutral", "negative")
ASKING, APPROVING = Actor("user", uuid4()), Actor("user", uuid4())  # a promotion needs both

sides = st.sampled_from((0, 1))
outcomes = st.sampled_from(OUTCOMES)
picks = st.integers(0, 20)
tools = st.sampled_from(TOOLS[:3])
names = st.sampled_from(("", "c1", "c2"))
offsets = st.sampled_from((0, 0, 0, -1))
states = st.sampled_from(("draft", "shadow", "shadow", "active", "active", "disabled"))


class RuleLife(RuleBasedStateMachine):
    """Two accounts with rules about the same tools."""

    def __init__(self) -> None:
        super().__init__()
        self.sides = (ModelledAccount.create(), ModelledAccount.create())

    def pick(self, who: int, number: int) -> tuple[ModelledAccount, Edition]:
        side = self.sides[who]
        need(side.rules)
        return side, list(side.rules.values())[number % len(side.rules)]

    @step(who=sides, tool=tools, name=names)
    def draft(self, who: int, tool: str, name: str) -> None:
        side = self.sides[who]
        body = {"name": f"No {tool}", "if": {}, "then": {"tool": {"deny": [tool]}}}
        named = [each for each in side.rules.values() if name and each.client_id == name]
        if named:
            [existing] = named
            same = existing.written == tool
            answer = side.agent.post("rules", {**body, "client_id": name}, 200 if same else 409)
            assert not same or answer["id"] == existing.id
            return
        answer = side.agent.post("rules", {**body, **({"client_id": name} if name else {})}, 201)
        pk = answer["id"]
        side.rules[pk] = Edition(pk, tool, lineage=pk, client_id=name, written=tool)

    @step(who=sides, number=picks, tool=tools, offset=offsets)
    def edit(self, who: int, number: int, tool: str, offset: int) -> None:
        """A draft changes; a rule that was in shadow gets a new edition."""
        side, one = self.pick(who, number)
        seen = one.version + offset
        need(seen >= 1)
        body = {"version": seen, "then": {"tool": {"deny": [tool]}}}
        drafts = [
            each
            for each in side.editions(one)
            if each.state == "draft" and each.edition > one.edition
        ]
        path, frozen = f"rules/{one.id}", one.was_in_shadow or one.state != "draft"
        if offset:
            side.agent.patch(path, body, 409)
        elif tool == one.tool:
            assert side.agent.patch(path, body, 200)["version"] == one.version
        elif not frozen:
            side.agent.patch(path, body, 200)
            one.version, one.tool = one.version + 1, tool
        elif drafts:
            assert side.agent.patch(path, body, 409)["error"] == "newer_edition"
        else:
            answer = side.agent.patch(path, body, 201)
            last = max(each.edition for each in side.editions(one))
            new = Edition(answer["id"], tool, lineage=one.lineage, edition=last + 1)
            side.rules[new.id] = new

    @step(who=sides, number=picks, state=states, offset=offsets)
    def move(self, who: int, number: int, state: str, offset: int) -> None:
        side, one = self.pick(who, number)
        seen = one.version + offset
        need(seen >= 1)
        body = {"rule_node_id": one.id, "state": state, "version": seen, "input_text": "Tried."}
        path = "memory/rules/state"
        if offset or (state != one.state and state not in MOVES[one.state]):
            side.agent.post(path, body, 409)
            return
        assert side.agent.post(path, body, 200)["state"] == state
        if state == one.state:
            return
        if state == "active":
            side.promote(one)
        else:
            one.go(state)

    @step(who=sides, number=picks)
    def activate_without_evidence(self, who: int, number: int) -> None:
        side, one = self.pick(who, number)
        need(one.state == "shadow")
        body = {"rule_node_id": one.id, "state": "active"}
        side.agent.post("memory/rules/state", body, 400)

    @step(who=sides, number=picks)
    def request_promotion(self, who: int, number: int) -> None:
        """A new request withdraws an older one."""
        side, one = self.pick(who, number)
        with acting(side.account):
            if one.state != "shadow":
                with pytest.raises(Conflict):
                    request_promotion(side.change(one, ASKING))
                return
            request = request_promotion(side.change(one, ASKING))
        side.requests[one.id] = request.pk, side.reviewed_content(one)

    @step(who=sides, number=picks, person=st.sampled_from((ASKING, APPROVING)))
    def approve_request(self, who: int, number: int, person: Actor) -> None:
        """Another person approves what was requested, unless it has changed since."""
        side = self.sides[who]
        need(side.requests)
        pk = list(side.requests)[number % len(side.requests)]
        one, (request, content) = side.rules[pk], side.requests[pk]
        refusal: type[DomainError] | None = None
        if person == ASKING:
            refusal = Denied
        elif content != side.reviewed_content(one):
            refusal = Conflict
        with acting(side.account), pytest.raises(refusal) if refusal else nullcontext():
            approve_request(side.change(one, person), request)
        if not refusal:
            del side.requests[pk]
            side.promote(one)

    @step(who=sides, number=picks)
    def withdraw_request(self, who: int, number: int) -> None:
        side = self.sides[who]
        need(side.requests)
        pk = list(side.requests)[number % len(side.requests)]
        request, _content = side.requests.pop(pk)
        with acting(side.account):
            withdraw_request(side.change(side.rules[pk], APPROVING), request)
            with pytest.raises(Conflict):
                approve_request(side.change(side.rules[pk], APPROVING), request)

    @step(who=sides, number=picks, run=st.sampled_from(("r1", "r2")), outcome=outcomes)
    def rate(self, who: int, number: int, run: str, outcome: str) -> None:
        side, one = self.pick(who, number)
        status = 200 if (run, outcome) in one.outcomes else 201
        body = {"outcome": outcome, "run_id": run}
        side.agent.post(f"rules/{one.id}/feedback", body, status)
        one.outcomes.add((run, outcome))

    @step(who=sides, number=picks)
    def roll_back(self, who: int, number: int) -> None:
        side, one = self.pick(who, number)
        path, body = f"rules/{one.id}/rollback", {"version": one.version, "reason": "It hurt."}
        if one.state != "active":
            assert side.agent.post(path, body, 409)["error"] == "wrong_state"
            return
        side.agent.post(path, body, 200)
        before = side.rules.get(one.replaced or "")
        one.go("shadow")
        if before:
            before.go("active", before.replaced)

    @step(who=sides, number=picks)
    def disable(self, who: int, number: int) -> None:
        side, one = self.pick(who, number)
        side.agent.delete(f"rules/{one.id}", 200)
        if one.state != "disabled":
            one.go("disabled")

    @step(who=sides, number=picks)
    def try_ids_of_the_other_account(self, who: int, number: int) -> None:
        _, one = self.pick(who, number)
        other = self.sides[1 - who].agent
        other.get(f"rules/{one.id}", 404)
        other.patch(f"rules/{one.id}", {"name": "Mine"}, 404)
        other.post("memory/rules/state", {"rule_node_id": one.id, "state": "shadow"}, 404)

    @step(who=sides)
    def select(self, who: int) -> None:
        """Only active rules deny tools; those in shadow are reported."""
        side = self.sides[who]
        body = {"context": {"intent": "fetch"}, "candidates": list(TOOLS), "include_shadow": True}
        answer = side.agent.post("memory/tools/select", body, 200)
        left = [tool for tool in TOOLS if tool not in side.denied("active")]
        assert answer["selection"]["selected"] == left[0]
        assert set(answer["selection"]["allowed"]) == set(left)
        evaluated = side.agent.post("memory/rules/evaluate", {"context": {}, "limit": 200}, 200)
        for state in ("active", "shadow"):
            ids = {each["rule_node_id"] for each in evaluated[state]}
            assert ids == {one.id for one in side.rules.values() if one.state == state}

    def teardown(self) -> None:
        makers.settle()
        for who, side in enumerate(self.sides):
            self.select(who)
            list_results = side.agent.get("rules", 200, limit=500)["rules"]
            assert {(r["id"], r["state"], r["version"], r["edition"]) for r in list_results} == {
                (one.id, one.state, one.version, one.edition) for one in side.rules.values()
            }
            statistics = makers.rows(RuleStatistics, side.account)
            counts = {str(s.rule_id): (s.positive, s.neutral, s.negative) for s in statistics}
            assert counts == {
                one.id: tuple(sum(each == name for _, each in one.outcomes) for name in OUTCOMES)
                for one in side.rules.values()
                if one.outcomes
            }
            assert side.agent.get("memory/verify")["ok"]
            call_command("fsck", account=side.account.slug, stdout=StringIO())


@pytest.mark.usefixtures("committed")
@forms(short=5, steps=30)
def test_rules_live_as_modelled(form: hypothesis.settings) -> None:
    run(RuleLife, form)
