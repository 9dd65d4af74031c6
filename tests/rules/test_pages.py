"""Pages of rules: list, moves, promotion and rollback."""

from typing import Any

from django.test import Client
from pytest_django import DjangoAssertNumQueries as MaxQueries

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import Actor
from kmapp.accounts.models import Account
from kmapp.database.ids import uuid7
from rules.actions.promotion_requests import request_promotion
from rules.actions.rules import update_rule
from rules.actions.state_changes import StateChange
from rules.jobs.tasks import delete_expired_decisions
from rules.models import Rule, RuleDecision, RulePromotion
from tests import makers
from tests.makers import missing
from tests.rules.builders import (
    HOSTILE,
    add_promotable_rule,
    add_rule,
    fill_rules,
    move_rule,
    rate,
    reload_rule,
    select,
    set_gate,
)
from tests.web.pages import page, read_confirmation

LIN = Actor("user", uuid7())


def parse_hidden_fields(body: str) -> dict[str, str]:
    """Return the hidden fields of a form, which state the version and the evidence on its page."""
    results = body.partition('name="seen" value="')[2].partition('"')[0]
    version = body.partition('name="version" value="')[2].partition('"')[0]
    return {"version": version, "seen": results}


def promote(client: Client, target: Rule, **changes: str) -> Any:
    here = f"/rules/{target.pk}/promotion/"
    form = {**parse_hidden_fields(page(client.get(here))), "reason": "It has shown enough."}
    return client.post(here, {**form, **changes})


def test_rules_are_listed_and_counted_by_state(reviewer: Client, acme: Account) -> None:
    assert "No rules yet" in page(reviewer.get("/rules/"))
    add_rule(acme, "A draft")
    add_rule(acme, "A watcher", "shadow", then={"tool": {"prefer": ["grep"]}})
    body = page(reviewer.get("/rules/"))
    assert "A draft" in body
    assert "prefers <bdi hx-disable>grep</bdi>" in body
    only = page(reviewer.get("/rules/", {"state": "shadow"}))
    assert ("A watcher" in only, "A draft" in only) == (True, False)
    assert "Nothing matches" in page(reviewer.get("/rules/", {"q": "no such name"}))
    assert "A draft" in page(reviewer.get("/rules/", {"state": "nowhere", "q": "draft"}))
    counts = reviewer.get("/rules/counts/")
    assert 'Shadow <span class="count">1</span>' in page(counts)
    again = reviewer.get("/rules/counts/", headers={"If-None-Match": counts.headers["ETag"]})
    assert again.status_code == 304


def test_query_count(reviewer: Client, acme: Account, max_queries: MaxQueries) -> None:
    target = fill_rules(acme, 10)
    for path, most in (
        ("", 18),
        ("counts/", 12),
        (f"{target[0].pk}/", 26),
        (f"{target[0].pk}/promotion/", 34),
        ("gate/", 20),
    ):
        with max_queries(most):
            assert reviewer.get(f"/rules/{path}").status_code == 200, path


def test_gate_page_names_who_can_promote_past_it(reviewer: Client) -> None:
    body = page(reviewer.get("/rules/gate/"))
    assert "Only an admin or a key with the scope rules:override can promote a rule" in body


def test_move_is_recorded_and_verified(reviewer: Client, acme: Account) -> None:
    target = add_rule(acme, "Moves")
    here = f"/rules/{target.pk}/"
    assert reviewer.post(f"{here}move/", {"to": "shadow"}).status_code == 400
    form = {"to": "shadow", "version": "1", "reason": "Let it watch."}
    assert reviewer.post(f"{here}move/", form).status_code == 302
    assert "Someone else changed this rule" in page(reviewer.post(f"{here}move/", form), 409)
    body = page(reviewer.get(here))
    assert (
        missing(body, "moved to shadow", "Let it watch.", "Verified", "commit ", "denies", "curl")
        == []
    )
    with acting(acme):
        reload_rule(target).versions.filter(version=2).update(state={"name": "Forged"})
    assert "Broken" in page(reviewer.get(here))


def test_reviewer_cannot_change_active_rules(reviewer: Client, acme: Account) -> None:
    live, watching = add_rule(acme, "Live", "active"), add_promotable_rule(acme)
    for path, form in (
        (f"{live.pk}/move/", {"to": "disabled"}),
        (f"{live.pk}/move/", {"to": "shadow"}),
        (f"{live.pk}/rollback/", {}),
        (f"{watching.pk}/promotion/", {"reason": "Please."}),
    ):
        target = live if str(live.pk) in path else watching
        answer = reviewer.post(f"/rules/{path}", {"version": target.version, **form})
        assert answer.status_code == 403, path
    assert (reload_rule(live).state, reload_rule(watching).state) == ("active", "shadow")
    assert "Only an admin" in page(reviewer.get(f"/rules/{watching.pk}/promotion/"))


def test_rule_is_promoted_and_rolled_back(admin: Client, acme: Account) -> None:
    add_rule(acme, "Prefer bash", "active", then={"tool": {"prefer": ["bash"]}})
    target = add_promotable_rule(acme)
    body = page(admin.get(f"/rules/{target.pk}/promotion/"))
    for words in (
        *("Evidence gate met", "Prefer bash", "tool.bash", "3 / 3", "44–100 %"),
        *("No edition of this rule is active", "&quot;selected&quot;: "),
        *("Priority 0", '<del class="short">', 'data-label="Bad outcomes">3<', "Show all 3"),
        *("3 decisions evaluated; at least 3 are required.", ">bad<"),
    ):
        assert words in body, words
    assert "Enter a reason" in page(promote(admin, target, reason="  "), 400)
    here = f"/rules/{target.pk}/promotion/"
    answer = promote(admin, target)
    assert (answer.status_code, reload_rule(target).state) == (302, "active")
    done = page(admin.get(answer.headers["Location"]))
    assert "This edition is active." in page(admin.get(here))
    way_back = f"/rules/{target.pk}/rollback/?version={reload_rule(target).version}"
    assert f'hx-post="{way_back}"' in done
    back = admin.post(way_back, headers={"HX-Request": "true"})
    assert back.headers["HX-Redirect"] == f"/rules/{target.pk}/"
    assert reload_rule(target).state == "shadow"


def test_change_of_an_active_rule_asks_for_confirmation(
    admin: Client, reviewer: Client, acme: Account
) -> None:
    first = add_rule(acme, "No curl", "active")
    with acting(acme):
        newer = update_rule(acme.pk, LIN, first.pk, {"then": {"tool": {"deny": ["grep"]}}})
    second = move_rule(acme, move_rule(acme, newer, "shadow"), "active")
    here = f"/rules/{second.pk}/"
    rule_page, question = page(admin.get(here)), ""
    for path, text in (
        ("move/?to=shadow", "No edition of it will be active."),
        ("move/?to=disabled", "Roll back to edition 1 instead"),
        ("rollback/", "Edition 1 becomes active again."),
    ):
        assert f'href="{here}{path}"' in rule_page
        question = page(admin.get(f"{here}{path}"))
        assert missing(question, text, "starts again from zero") == []
        assert reviewer.get(f"{here}{path}").status_code == 403
    assert reload_rule(second).state == "active"
    assert admin.post(f"{here}rollback/", parse_hidden_fields(question)).status_code == 302
    assert (reload_rule(first).state, reload_rule(second).state) == ("active", "shadow")
    assert "no longer active" in page(admin.get(f"{here}rollback/"), 409)


def test_move_cannot_activate_and_an_override_needs_a_reason(admin: Client, acme: Account) -> None:
    target = add_rule(acme, "New", "shadow")
    for to in ("active", "", "nowhere"):
        answer = admin.post(f"/rules/{target.pk}/move/", {"to": to, "version": target.version})
        assert (answer.status_code, reload_rule(target).state) == (400, "shadow"), to
    assert "Not enough evidence" in page(promote(admin, target), 409)
    assert "Enter a reason" in page(promote(admin, target, override="yes", reason=""), 400)
    assert promote(admin, target, override="yes").status_code == 302
    assert reload_rule(target).state == "active"


def test_second_promotion_is_a_conflict(admin: Client, acme: Account) -> None:
    lin = Client()
    lin.force_login(makers.member(acme, "lin", role="admin"))
    target = add_promotable_rule(acme)
    here = f"/rules/{target.pk}/promotion/"
    forms = [
        {**parse_hidden_fields(page(one.get(here))), "reason": "Enough."} for one in (admin, lin)
    ]
    assert admin.post(here, forms[0]).status_code == 302
    assert "Someone else changed this rule" in page(lin.post(here, forms[1]), 409)


def test_promotion_needs_the_current_active_edition(admin: Client, acme: Account) -> None:
    target = add_promotable_rule(acme)
    here = f"/rules/{target.pk}/promotion/"
    form = {**parse_hidden_fields(page(admin.get(here))), "reason": "Enough."}
    with acting(acme):  # another edition of the rule becomes active meanwhile
        twin = Rule.objects.get(pk=add_rule(acme, "Twin", "shadow").pk)
        Rule.objects.filter(pk=twin.pk).update(lineage=target.lineage, edition=9)
    move_rule(acme, twin, "active")
    assert "The active edition changed" in page(admin.post(here, form), 409)
    assert "would replace it" in page(admin.get(here))


def test_second_person_approves_the_request(admin: Client, reviewer: Client, acme: Account) -> None:
    target = add_promotable_rule(acme)
    set_gate(acme, second_person=True)
    assert promote(reviewer, target).status_code == 302
    request = makers.get(RulePromotion, acme)
    assert "Pending approval" in page(admin.get("/rules/"))
    here = f"/rules/promotions/{request.pk}/"
    version = {"version": str(target.version)}
    assert reviewer.post(f"{here}approve/", version).status_code == 403
    assert reload_rule(target).state == "shadow"
    assert admin.post(f"{here}approve/", version).status_code == 302
    assert reload_rule(target).state == "active"
    assert admin.post(f"{here}approve/", version).status_code == 409


def test_own_and_stale_requests_cannot_be_approved(admin: Client, acme: Account) -> None:
    target = add_promotable_rule(acme)
    set_gate(acme, second_person=True)
    assert promote(admin, target).status_code == 302
    own = makers.get(RulePromotion, acme)
    form = {"version": str(target.version)}
    assert admin.post(f"/rules/promotions/{own.pk}/approve/", form).status_code == 403
    assert admin.post(f"/rules/promotions/{own.pk}/withdraw/", form).status_code == 302
    with acting(acme):
        foreign = request_promotion(
            StateChange(account_id=acme.pk, rule_id=target.pk, actor=LIN, reason="Enough.")
        )
        Rule.objects.filter(pk=target.pk).update(priority=50, version=target.version + 1)
    assert "no longer valid" in page(admin.get(f"/rules/{target.pk}/promotion/"))
    stale = admin.post(f"/rules/promotions/{foreign.pk}/approve/", {"version": target.version + 1})
    assert "no longer valid" in page(stale, 409)
    assert reload_rule(target).state == "shadow"


def test_admin_changes_the_gate_and_sees_its_history(
    admin: Client, reviewer: Client, acme: Account
) -> None:
    form = {"min_seen": "7", "min_changed": "2", "max_against": "0.25", "second_person": "on"}
    assert "<fieldset disabled>" in page(reviewer.get("/rules/gate/"))
    assert reviewer.post("/rules/gate/set/", form).status_code == 403
    assert admin.post("/rules/gate/set/", {**form, "max_against": "2"}).status_code == 422
    assert admin.post("/rules/gate/set/", {**form, "reason": "Tighter."}).status_code == 302
    body = page(admin.get("/rules/gate/"))
    assert missing(body, "Tighter.", "<del><bdi hx-disable>100</bdi></del>", "Ada", "commit ") == []
    stale = {**form, "min_seen": "8", "seen": str(uuid7())}
    assert admin.post("/rules/gate/set/", stale).status_code == 409


def test_expired_decisions_without_feedback_are_deleted(admin: Client, acme: Account) -> None:
    add_rule(acme, "Watches", "shadow")
    rated, _plain = (select(acme, {"intent": "fetch"}) for _each in range(2))
    rate(acme, rated, "positive")
    with acting(acme):
        rows = rated.decision.__class__.objects.of(acme)
        rows.update(created_at="2020-01-01T00:00:00Z")
    form = {"min_seen": "1", "min_changed": "1", "max_against": "1", "decision_days": "30"}
    text = page(admin.post("/rules/gate/set/", form))
    assert "delete 1 decision" in text
    assert delete_expired_decisions() == 0
    form |= read_confirmation(text)
    assert "delete 1 decision" in page(
        admin.post("/rules/gate/set/", form | {"decision_days": "20"})
    )
    assert admin.post("/rules/gate/set/", form).status_code == 302
    assert delete_expired_decisions() == 1
    with acting(acme):
        assert [each.pk for each in rows.all()] == [rated.decision.pk]


def test_denied_tool_may_have_any_name(reviewer: Client, acme: Account) -> None:
    pk = select(acme, {"intent": "fetch"}).decision.pk
    makers.update(RuleDecision, acme, {"pk": pk}, denied={"items": "deny_list"})
    text = page(reviewer.get(f"/rules/decisions/{pk}/"))
    assert missing(text, "items</bdi>", "denied by a rule") == []


def test_texts_of_rules_and_agents_are_escaped(admin: Client, acme: Account) -> None:
    target = add_rule(
        acme,
        HOSTILE,
        "shadow",
        when={HOSTILE: {"$in": [HOSTILE]}, "$or": [{"a": {"$not": {"b": HOSTILE}}}]},
        then={"tool": {"deny": [HOSTILE]}, "extensions": {HOSTILE: HOSTILE}},
        exceptions=[{"x": HOSTILE}],
    )
    add_rule(acme, HOSTILE, "shadow", when={}, then={"tool": {"prefer": ["grep"]}})
    add_rule(acme, HOSTILE, "active", when={}, then={"tool": {"deny": [HOSTILE, "curl"]}})
    live = add_rule(acme, HOSTILE, "active", when={}, then={"tool": {"prefer": [HOSTILE, "bash"]}})
    with acting(acme):
        newer = update_rule(acme.pk, LIN, live.pk, {"when": {"y": HOSTILE}, "summary": HOSTILE})
    move_rule(acme, newer, "shadow")
    ids = dict.fromkeys(("run_id", "agent_id", "user_id"), HOSTILE)
    decided = [select(acme, {"intent": "fetch", "x": HOSTILE}, **ids) for _each in range(3)]
    for each in decided:
        rate(acme, each, "negative")
    here = f"decisions/{decided[0].decision.pk}/"
    note = {"outcome": "negative", "note": HOSTILE}
    assert admin.post(f"/rules/{here}rate/", note).status_code == 302
    rules = [f"{one.pk}/{tail}" for one in (target, newer) for tail in ("", "promotion/")]
    for path in ("", *rules, "decisions/", here, "conflicts/", "feedback/"):
        body = page(admin.get(f"/rules/{path}")).partition("<body")[2]
        for markup in ("<script>alert", "<img src=x", "\u202e"):
            assert markup not in body, path
