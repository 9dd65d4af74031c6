"""The pages of rules: listed, moved, promoted on evidence by one person or two, rolled back."""

from typing import Any

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import Actor
from kmapp.accounts.models import Account, User
from kmapp.database.ids import uuid7
from rules.actions.promotions import request_promotion
from rules.actions.rules import edit
from rules.actions.states import Decision
from rules.jobs.tasks import delete_expired_decisions
from rules.models import Rule, RulePromotion
from tests import makers
from tests.rules.filling import fill_rules
from tests.rules.making import HOSTILE, gate, go, now, page, rate, rule, select, watched

LIN = Actor("user", uuid7())


@pytest.fixture
def boss(ada: User) -> Client:
    client = Client()
    client.force_login(ada)
    return client


@pytest.fixture
def at_desk(alice: User) -> Client:
    client = Client()
    client.force_login(alice)
    return client


def seen_of(shown: str) -> dict[str, str]:
    """What a page's form sends back of what was seen."""
    found = shown.partition('name="seen" value="')[2].partition('"')[0]
    version = shown.partition('name="version" value="')[2].partition('"')[0]
    return {"version": version, "seen": found}


def promote(client: Client, made: Rule, **said: str) -> Any:
    here = f"/rules/{made.pk}/promotion/"
    form = {**seen_of(page(client.get(here))), "reason": "It has shown enough."}
    return client.post(here, {**form, **said})


def test_rules_are_listed_by_state_with_their_counts(at_desk: Client, acme: Account) -> None:
    assert "No rules yet" in page(at_desk.get("/rules/"))
    rule(acme, "A draft")
    rule(acme, "A watcher", "shadow", then={"tool": {"prefer": ["grep"]}})
    shown = page(at_desk.get("/rules/"))
    assert "A draft" in shown
    assert "prefers <bdi hx-disable>grep</bdi>" in shown
    only = page(at_desk.get("/rules/", {"state": "shadow"}))
    assert ("A watcher" in only, "A draft" in only) == (True, False)
    assert "Nothing matches" in page(at_desk.get("/rules/", {"q": "no such name"}))
    assert "A draft" in page(at_desk.get("/rules/", {"state": "nowhere", "q": "draft"}))
    counts = at_desk.get("/rules/counts/")
    assert 'Shadow <span class="count">1</span>' in page(counts)
    again = at_desk.get("/rules/counts/", headers={"If-None-Match": counts.headers["ETag"]})
    assert again.status_code == 304


@pytest.mark.parametrize("number", [2, 30])
def test_pages_cost_the_same_however_much_there_is(
    at_desk: Client,
    acme: Account,
    number: int,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    made = fill_rules(acme, number)
    for path, most in (
        ("", 18),
        ("counts/", 12),
        (f"{made[0].pk}/", 26),
        (f"{made[0].pk}/promotion/", 34),
        ("gate/", 20),
    ):
        with django_assert_max_num_queries(most):
            assert at_desk.get(f"/rules/{path}").status_code == 200, path


def test_a_rule_moves_for_a_reason_and_its_history_is_proven(
    at_desk: Client, acme: Account
) -> None:
    made = rule(acme, "Moves")
    here = f"/rules/{made.pk}/"
    assert at_desk.post(f"{here}move/", {"to": "shadow"}).status_code == 400
    form = {"to": "shadow", "version": "1", "reason": "Let it watch."}
    assert at_desk.post(f"{here}move/", form).status_code == 302
    assert "Someone else changed this rule" in page(at_desk.post(f"{here}move/", form), 409)
    shown = page(at_desk.get(here))
    for words in ("moved to shadow", "Let it watch.", "Verified", "commit ", "denies", "curl"):
        assert words in shown, words
    with acting(acme):
        now(made).versions.filter(version=2).update(state={"name": "Forged"})
    assert "Broken" in page(at_desk.get(here))


@pytest.mark.parametrize("to", ["active", "", "nowhere"])
def test_no_move_leads_past_the_promotion_page(boss: Client, acme: Account, to: str) -> None:
    made = rule(acme, "Moves", "shadow")
    answer = boss.post(f"/rules/{made.pk}/move/", {"to": to, "version": made.version})
    assert (answer.status_code, now(made).state) == (400, "shadow")


def test_a_reviewer_touches_no_rule_that_counts(at_desk: Client, acme: Account) -> None:
    live, watching = rule(acme, "Live", "active"), watched(acme)
    for path, form in (
        (f"{live.pk}/move/", {"to": "disabled"}),
        (f"{live.pk}/move/", {"to": "shadow"}),
        (f"{live.pk}/rollback/", {}),
        (f"{watching.pk}/promotion/", {"reason": "Please."}),
    ):
        made = live if str(live.pk) in path else watching
        answer = at_desk.post(f"/rules/{path}", {"version": made.version, **form})
        assert answer.status_code == 403, path
    assert (now(live).state, now(watching).state) == ("active", "shadow")
    assert "Only an admin" in page(at_desk.get(f"/rules/{watching.pk}/promotion/"))


def test_promoted_on_evidence_and_rolled_back_by_one_click(boss: Client, acme: Account) -> None:
    rule(acme, "Prefer bash", "active", then={"tool": {"prefer": ["bash"]}})
    made = watched(acme)
    shown = page(boss.get(f"/rules/{made.pk}/promotion/"))
    for words in (
        *(
            "Evidence gate met",
            "Prefer bash",
            "tool.bash",
            "3 / 3",
            "44–100 %",
            "No edition of this rule is active",
        ),
        *("Priority 0", '<del class="short">', 'data-label="Bad outcomes">3<', "Show all 3"),
        *("3 decisions evaluated; at least 3 are required.", ">bad<"),
    ):
        assert words in shown, words
    assert "Enter a reason" in page(promote(boss, made, reason="  "), 400)
    here = f"/rules/{made.pk}/promotion/"
    answer = promote(boss, made)
    assert (answer.status_code, now(made).state) == (302, "active")
    done = page(boss.get(answer.headers["Location"]))
    assert "This edition is active." in page(boss.get(here))
    way_back = f"/rules/{made.pk}/rollback/?version={now(made).version}"
    assert f'hx-post="{way_back}"' in done
    back = boss.post(way_back, headers={"HX-Request": "true"})
    assert back.headers["HX-Redirect"] == f"/rules/{made.pk}/"
    assert now(made).state == "shadow"


def test_the_gate_opens_past_the_evidence_only_for_a_reason(boss: Client, acme: Account) -> None:
    made = rule(acme, "New", "shadow")
    assert "Not enough evidence" in page(promote(boss, made), 409)
    assert "Enter a reason" in page(promote(boss, made, override="yes", reason=""), 400)
    assert promote(boss, made, override="yes").status_code == 302
    assert now(made).state == "active"


def test_a_draft_has_no_way_to_count(boss: Client, acme: Account) -> None:
    made = rule(acme, "A draft")
    form = {"version": made.version, "override": "yes", "reason": "Now."}
    answer = boss.post(f"/rules/{made.pk}/promotion/", form)
    assert (answer.status_code, now(made).state) == (409, "draft")


def test_of_two_admins_one_is_told(boss: Client, acme: Account) -> None:
    lin = Client()
    lin.force_login(makers.member(acme, "lin", role="admin"))
    made = watched(acme)
    here = f"/rules/{made.pk}/promotion/"
    forms = [{**seen_of(page(one.get(here))), "reason": "Enough."} for one in (boss, lin)]
    assert boss.post(here, forms[0]).status_code == 302
    assert "Someone else changed this rule" in page(lin.post(here, forms[1]), 409)


def test_what_is_live_changed_since_it_was_looked_at(boss: Client, acme: Account) -> None:
    made = watched(acme)
    here = f"/rules/{made.pk}/promotion/"
    form = {**seen_of(page(boss.get(here))), "reason": "Enough."}
    with acting(acme):  # another edition of it comes to count meanwhile
        twin = Rule.objects.get(pk=rule(acme, "Twin", "shadow").pk)
        Rule.objects.filter(pk=twin.pk).update(lineage=made.lineage, edition=9)
    go(acme, twin, "active")
    assert "The active edition changed" in page(boss.post(here, form), 409)
    assert "would replace it" in page(boss.get(here))


def test_a_second_person_approves_exactly_what_was_seen(
    boss: Client, at_desk: Client, acme: Account
) -> None:
    made = watched(acme)
    gate(acme, second_person=True)
    assert promote(at_desk, made).status_code == 302
    with acting(acme):
        wish = RulePromotion.objects.of(acme).get()
    assert "Pending approval" in page(boss.get("/rules/"))
    here = f"/rules/promotions/{wish.pk}/"
    version = {"version": str(made.version)}
    assert at_desk.post(f"{here}approve/", version).status_code == 403
    assert now(made).state == "shadow"
    assert boss.post(f"{here}approve/", version).status_code == 302
    assert now(made).state == "active"
    assert boss.post(f"{here}approve/", version).status_code == 409


def test_nobody_approves_their_own_wish_and_a_stale_one_is_void(
    boss: Client, acme: Account
) -> None:
    made = watched(acme)
    gate(acme, second_person=True)
    assert promote(boss, made).status_code == 302
    with acting(acme):
        mine = RulePromotion.objects.of(acme).get()
    form = {"version": str(made.version)}
    assert boss.post(f"/rules/promotions/{mine.pk}/approve/", form).status_code == 403
    assert boss.post(f"/rules/promotions/{mine.pk}/withdraw/", form).status_code == 302
    with acting(acme):
        theirs = request_promotion(
            Decision(account_id=acme.pk, rule_id=made.pk, actor=LIN, reason="Enough.")
        )
        Rule.objects.filter(pk=made.pk).update(priority=50, version=made.version + 1)
    assert "no longer valid" in page(boss.get(f"/rules/{made.pk}/promotion/"))
    stale = boss.post(f"/rules/promotions/{theirs.pk}/approve/", {"version": made.version + 1})
    assert "no longer valid" in page(stale, 409)
    assert now(made).state == "shadow"


def test_an_admin_sets_the_gate_and_what_it_was_stays_in_sight(
    boss: Client, at_desk: Client, acme: Account
) -> None:
    form = {"min_seen": "7", "min_changed": "2", "max_against": "0.25", "second_person": "on"}
    assert "<fieldset disabled>" in page(at_desk.get("/rules/gate/"))
    assert at_desk.post("/rules/gate/set/", form).status_code == 403
    assert boss.post("/rules/gate/set/", {**form, "max_against": "2"}).status_code == 422
    assert boss.post("/rules/gate/set/", {**form, "reason": "Tighter."}).status_code == 302
    shown = page(boss.get("/rules/gate/"))
    for words in ("Tighter.", "<del><bdi hx-disable>100</bdi></del>", "Ada", "commit "):
        assert words in shown, words
    stale = {**form, "min_seen": "8", "seen": str(uuid7())}
    assert boss.post("/rules/gate/set/", stale).status_code == 409


def test_decisions_go_after_their_days_but_for_those_with_feedback(
    boss: Client, acme: Account
) -> None:
    rule(acme, "Watches", "shadow")
    rated, _plain = (select(acme, {"intent": "fetch"}) for _each in range(2))
    rate(acme, rated, "positive")
    with acting(acme):
        rows = rated.decision.__class__.objects.of(acme)
        rows.update(created_at="2020-01-01T00:00:00Z")
    form = {"min_seen": "1", "min_changed": "1", "max_against": "1", "decision_days": "30"}
    assert "delete 1 decision" in page(boss.post("/rules/gate/set/", form))
    assert delete_expired_decisions() == 0
    assert boss.post("/rules/gate/set/", {**form, "count": "1"}).status_code == 302
    assert delete_expired_decisions() == 1
    with acting(acme):
        assert [each.pk for each in rows.all()] == [rated.decision.pk]


def test_what_a_rule_says_never_becomes_markup(boss: Client, acme: Account) -> None:
    made = rule(
        acme,
        HOSTILE,
        "shadow",
        when={HOSTILE: {"$in": [HOSTILE]}, "$or": [{"a": {"$not": {"b": HOSTILE}}}]},
        then={"tool": {"deny": [HOSTILE]}, "extensions": {HOSTILE: HOSTILE}},
        exceptions=[{"x": HOSTILE}],
    )
    live = rule(acme, HOSTILE, "active", when={}, then={"tool": {"prefer": [HOSTILE]}})
    with acting(acme):
        newer = edit(acme.pk, LIN, live.pk, {"when": {"y": HOSTILE}, "summary": HOSTILE})
    go(acme, newer, "shadow")
    for _each in range(3):
        decided = select(acme, {"intent": "fetch"}, run_id=HOSTILE)
        rate(acme, decided, "negative")
    for path in ("", *(f"{one.pk}/{tail}" for one in (made, newer) for tail in ("", "promotion/"))):
        shown = page(boss.get(f"/rules/{path}")).partition("<body")[2]
        for markup in ("<script>alert", "<img src=x", "\u202e"):
            assert markup not in shown, path
