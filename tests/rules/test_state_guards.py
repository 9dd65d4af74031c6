"""Rejection of invalid state changes by pages, admin, API, jobs and direct writes."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from rules.actions.suggestions import suggest
from rules.models import Rule, RulePromotion
from tests import makers
from tests.rules.making import NO_CURL, gate, now, rule, watched
from tests.web.staff import address, staff

PLAIN = ("rules:read", "rules:write", "memory:write")
JSON = "application/json"


class People:
    """Who tries: an admin who may use the stock admin, a reviewer, and two keys."""

    def __init__(self, account: Account) -> None:
        self.account = account
        self.boss, self.reviewer = self._person("boss"), self._person("rev", role="reviewer")
        self.plain, self.may = self._key(*PLAIN), self._key(*PLAIN, "rules:override")

    def _person(self, name: str, role: str = "admin") -> Client:
        client = Client()
        client.force_login(staff(self.account, name, role=role))
        return client

    def _key(self, *scopes: str) -> Client:
        return Client(headers={"Authorization": f"Bearer {makers.key(self.account, scopes)[1]}"})


@pytest.fixture
def people(acme: Account) -> People:
    return People(acme)


def state(client: Client, made: Rule, to: str, **more: Any) -> Any:
    said = {"rule_node_id": str(made.pk), "state": to, "input_text": "Now.", **more}
    return client.post("/v1/memory/rules/state", said, content_type=JSON)


def bulk(client: Client, made: Rule, verb: str) -> Any:
    form = {"action": verb, "_selected_action": [str(made.pk)]}
    return client.post(address(Rule), form, follow=True)


def form(made: Rule, **more: Any) -> dict[str, Any]:
    return {"version": made.version, "reason": "Now.", **more}


Way = Callable[[People, Rule], Any]
AROUND_SHADOW: dict[str, Way] = {
    "a key that may override": lambda people, made: state(people.may, made, "active"),
    "a change that names a state": lambda people, made: people.may.patch(
        f"/v1/rules/{made.pk}", {"state": "active", "name": "Same"}, content_type=JSON
    ),
    "the page's moves": lambda people, made: people.boss.post(
        f"/rules/{made.pk}/move/", form(made, to="active")
    ),
    "the promotion page": lambda people, made: people.boss.post(
        f"/rules/{made.pk}/promotion/", form(made, override="yes")
    ),
    "a rollback": lambda people, made: people.boss.post(f"/rules/{made.pk}/rollback/", form(made)),
    "a rollback by key": lambda people, made: people.may.post(
        f"/v1/rules/{made.pk}/rollback", {}, content_type=JSON
    ),
    "the stock admin's action": lambda people, made: bulk(people.boss, made, "count"),
    "the stock admin's rollback": lambda people, made: bulk(people.boss, made, "roll_back"),
    "the stock admin's form": lambda people, made: people.boss.post(
        address(Rule, f"{made.pk}/change/"), {"state": "active", "_save": "Save"}
    ),
    "the stock admin's list": lambda people, made: people.boss.post(
        address(Rule), {"form-0-id": str(made.pk), "form-0-state": "active", "_save": "Save"}
    ),
    "the job": lambda people, made: job(people.account),
}


def job(account: Account) -> None:
    with acting(account):
        suggest(account.pk)


@pytest.mark.parametrize("way", AROUND_SHADOW)
@pytest.mark.parametrize("before", ["draft", "disabled"])
def test_no_way_leads_past_shadow(people: People, acme: Account, way: str, before: str) -> None:
    made = rule(acme, "A rule", before)
    AROUND_SHADOW[way](people, made)
    assert now(made).state == before


AROUND_GATE: dict[str, Way] = {
    "a key that may not override": lambda people, made: state(people.plain, made, "active"),
    "an override without words": lambda people, made: state(
        people.may, made, "active", input_text=" ", input_sha256="a" * 64
    ),
    "an override without anything": lambda people, made: state(
        people.may, made, "active", input_text=""
    ),
    "the promotion page": lambda people, made: people.boss.post(
        f"/rules/{made.pk}/promotion/", form(made)
    ),
    "its override without a reason": lambda people, made: people.boss.post(
        f"/rules/{made.pk}/promotion/", form(made, override="yes", reason=" ")
    ),
    "a reviewer's override": lambda people, made: people.reviewer.post(
        f"/rules/{made.pk}/promotion/", form(made, override="yes")
    ),
    "the stock admin's action": lambda people, made: bulk(people.boss, made, "count"),
    "the job": lambda people, made: job(people.account),
}


@pytest.mark.parametrize("way", AROUND_GATE)
def test_no_way_leads_around_the_gate(people: People, acme: Account, way: str) -> None:
    made = rule(acme, "A rule", "shadow")
    AROUND_GATE[way](people, made)
    assert now(made).state == "shadow"


ALONE: dict[str, Way] = {
    "a key": lambda people, made: state(people.plain, made, "active"),
    "a key that may override": lambda people, made: state(people.may, made, "active"),
    "an admin": lambda people, made: people.boss.post(
        f"/rules/{made.pk}/promotion/", form(made, override="yes")
    ),
    "the stock admin's action": lambda people, made: bulk(people.boss, made, "count"),
}


@pytest.mark.parametrize("way", ALONE)
def test_nobody_does_alone_what_takes_two(people: People, acme: Account, way: str) -> None:
    made = watched(acme)
    gate(acme, second_person=True)
    ALONE[way](people, made)
    assert now(made).state == "shadow"
    with acting(acme):
        for wish in RulePromotion.objects.of(acme):
            here = f"/rules/promotions/{wish.pk}/approve/"
            assert people.boss.post(here, {"version": made.version}).status_code == 403
    assert now(made).state == "shadow"


IN_PLACE: dict[str, Way] = {
    "a change by key": lambda people, made: people.may.patch(
        f"/v1/rules/{made.pk}", {"then": {"tool": {"deny": ["bash"]}}}, content_type=JSON
    ),
    "a change of its audience": lambda people, made: people.may.patch(
        f"/v1/rules/{made.pk}", {"audience": "user", "audience_id": "ada"}, content_type=JSON
    ),
    "the same client id with another body": lambda people, made: write(
        people.may, {"then": {"tool": {"deny": ["bash"]}}, "state": "active"}
    ),
    "the same id": lambda people, made: people.may.post(
        "/v1/rules", {"name": "Mine", "id": str(made.pk), "then": NO_CURL}, content_type=JSON
    ),
    "the stock admin's form": lambda people, made: people.boss.post(
        address(Rule, f"{made.pk}/change/"), {"then": "{}", "priority": 9, "_save": "Save"}
    ),
}


def write(client: Client, slots: dict[str, Any], **node: Any) -> Any:
    said = {"type": "rule", "client_id": "one", "title": "One", "slots": slots, **node}
    return client.post(
        "/v1/memory/write", {"input_text": "said", "nodes": [said]}, content_type=JSON
    )


@pytest.mark.parametrize("way", IN_PLACE)
def test_no_way_changes_in_place_what_counts(people: People, acme: Account, way: str) -> None:
    live = rule(acme, "Live", "active", client_id="one")
    IN_PLACE[way](people, live)
    after = now(live)
    assert (after.definition(), after.state, after.version) == (
        live.definition(),
        "active",
        live.version,
    )


def test_a_rule_is_a_draft_whatever_its_writer_says(people: People, acme: Account) -> None:
    slots = {"then": NO_CURL, "state": "active", "shadowed_at": "2030-01-01T00:00:00Z"}
    written = write(people.may, slots, state="active", status="active")
    assert [node["status"] for node in written.json()["nodes"]] == ["draft"]
    posted = people.may.post(
        "/v1/rules", {"name": "Two", "then": NO_CURL, "state": "active"}, content_type=JSON
    )
    assert posted.json()["state"] == "draft"


@pytest.mark.parametrize(
    ("node", "audience"),
    [
        ({}, ("user", "ada")),
        ({"run_id": "r"}, ("user", "ada")),
        ({"agent_id": "bot"}, ("agent", "bot")),
    ],
)
def test_a_rule_that_names_nobody_is_for_whom_its_batch_names(
    people: People, acme: Account, node: dict[str, str], audience: tuple[str, str]
) -> None:
    said = {"type": "rule", "title": "One", "slots": {"then": NO_CURL}, **node}
    body = {"user_id": "ada", "run_id": "s", "visibility": "user", "nodes": [said]}
    assert people.may.post("/v1/memory/write", body, content_type=JSON).status_code == 201
    with acting(acme):
        assert Rule.objects.values_list("audience", "audience_id").get() == audience


STALE: dict[str, Way] = {
    "a page's move": lambda people, made: people.boss.post(
        f"/rules/{made.pk}/move/", form(made, to="disabled")
    ),
    "a page's rollback": lambda people, made: people.boss.post(
        f"/rules/{made.pk}/rollback/", form(made)
    ),
    "a promotion": lambda people, made: people.boss.post(
        f"/rules/{made.pk}/promotion/", form(made, override="yes")
    ),
    "a key's move": lambda people, made: state(people.may, made, "disabled", version=made.version),
    "a key's change": lambda people, made: people.may.patch(
        f"/v1/rules/{made.pk}", {"priority": 3, "version": made.version}, content_type=JSON
    ),
    "a key's rollback": lambda people, made: people.may.post(
        f"/v1/rules/{made.pk}/rollback", {"version": made.version}, content_type=JSON
    ),
    "a key's removal": lambda people, made: people.may.delete(
        f"/v1/rules/{made.pk}", {"version": made.version}, content_type=JSON
    ),
}


@pytest.mark.parametrize("way", STALE)
def test_who_looked_at_another_version_is_told(people: People, acme: Account, way: str) -> None:
    seen = rule(acme, "A rule", "active")
    assert state(people.may, seen, "shadow").status_code == 200  # somebody was faster
    before = now(seen)
    assert STALE[way](people, seen).status_code == 409
    assert (now(seen).state, now(seen).version) == ("shadow", before.version)


def test_a_key_that_looked_decides_for_a_reason(people: People, acme: Account) -> None:
    live = rule(acme, "Live", "active")
    said = {"version": live.version, "reason": "An incident."}
    gone = people.may.delete(f"/v1/rules/{live.pk}", said, content_type=JSON)
    assert gone.json()["state"] == "disabled"
    with acting(acme):
        assert live.versions.latest("version").reason == "An incident."


def test_what_belongs_to_another_account_is_not_there(
    people: People, acme: Account, rival: Account
) -> None:
    theirs = rule(rival, "Theirs", "shadow")
    taken = {"name": "Mine", "id": str(theirs.pk), "then": NO_CURL}
    assert state(people.may, theirs, "disabled").status_code == 404
    assert (
        people.may.post(f"/v1/rules/{theirs.pk}/rollback", {}, content_type=JSON).status_code == 404
    )
    assert people.may.post("/v1/rules", taken, content_type=JSON).status_code == 409
    said = {"rule_node_id": str(theirs.pk), "outcome": "negative", "input_text": "bad"}
    assert people.may.post("/v1/memory/feedback", said, content_type=JSON).status_code == 404
    for tail in ("", "edit/", "promotion/", "backtest/progress/"):
        assert people.boss.get(f"/rules/{theirs.pk}/{tail}").status_code == 404
    assert now(theirs).version == theirs.version
