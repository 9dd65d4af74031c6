"""What was decided, where rules disagree, how it went; and rules tried on all of that."""

from typing import Any

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account, User
from rules.models import Rule, RuleDecision, RuleFeedback
from tests.makers import settle
from tests.rules.filling import fill_rules
from tests.rules.making import HOSTILE, go, page, rate, rule, select


@pytest.fixture
def at_desk(client: Client, alice: User) -> Client:
    client.force_login(alice)
    return client


@pytest.fixture
def decided(acme: Account) -> dict[str, Any]:
    """One decision of each sort."""
    rule(
        acme, "Prefer curl", "active", when={"intent": "fetch"}, then={"tool": {"prefer": ["curl"]}}
    )
    rule(acme, "Only bash", "active", when={"only": True}, then={"tool": {"allow": ["bash"]}})
    rule(acme, "No curl", "active", when={"clash": True}, then={"tool": {"deny": ["curl"]}})
    rule(acme, "Watch", "shadow", when={"n": 1}, then={"tool": {"deny": ["bash", "curl", "grep"]}})
    return {
        "plain": select(acme, {"x": 1}, run_id="one", agent_id="scout"),
        "differs": select(acme, {"n": 1}, run_id="two", user_id="ada"),
        "conflicts": select(acme, {"intent": "fetch", "clash": True}, run_id="three"),
        "rated": select(acme, {"x": 2}, run_id="four"),
    }


EVERY = {"plain", "differs", "conflicts", "rated"}
NARROWED: list[tuple[dict[str, str], set[str]]] = [
    ({}, EVERY),
    ({"kind": "differs"}, {"differs"}),
    ({"kind": "conflicts"}, {"conflicts"}),
    ({"kind": "rated"}, {"rated"}),
    ({"kind": "none"}, set()),
    ({"kind": "fallback"}, set()),
    ({"kind": "nonsense", "rule": "x", "since": "never"}, EVERY),
    ({"run_id": "one"}, {"plain"}),
    ({"agent_id": "scout"}, {"plain"}),
    ({"user_id": "ada"}, {"differs"}),
    ({"selected_tool": "curl"}, set()),
    ({"until": "2020-01-01"}, set()),
    ({"since": "2020-01-01"}, EVERY),
]


def test_the_log_is_narrowed(
    at_desk: Client, acme: Account, decided: dict[str, Any], subtests: pytest.Subtests
) -> None:
    rate(acme, decided["rated"], "positive")
    for asked, names in NARROWED:
        with subtests.test(asked=asked):
            shown = page(at_desk.get("/rules/decisions/", asked))
            for name, each in decided.items():
                assert (str(each.decision.pk) in shown) == (name in names), name
            if not names:
                assert "Nothing matches" in shown


def test_the_log_is_paged_to_its_end(
    at_desk: Client, acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also through decisions of one moment."""
    monkeypatch.setattr("rules.views.decisions.PAGE", 2)
    made = [select(acme, {"n": n}).decision for n in range(5)]
    with acting(acme):
        RuleDecision.objects.of(acme).update(created_at="2030-01-01T00:00:00Z")
    seen, query, address = [], "", "/rules/decisions/?since=2029-01-01"
    for _each in range(3):
        shown = page(at_desk.get(address))
        seen += [each.pk for each in made if f"/rules/decisions/{each.pk}/" in shown]
        query = shown.partition('rel="next" href="')[2].partition('"')[0].replace("&amp;", "&")
        address = f"/rules/decisions/{query}"
    assert (sorted(seen), query) == (sorted(each.pk for each in made), "")
    for odd in ("x", "~", "2030-01-01~x", "2030-01-01T00:00:00~" + str(made[0].pk)):
        assert str(made[4].pk) in page(at_desk.get("/rules/decisions/", {"before": odd}))


def test_the_log_of_a_rule_holds_what_it_applied_to(
    at_desk: Client, acme: Account, decided: dict[str, Any]
) -> None:
    made = decided["conflicts"].answer.matched.live[0].rule
    shown = page(at_desk.get("/rules/decisions/", {"rule": made.id}))
    assert str(decided["conflicts"].decision.pk) in shown
    assert str(decided["plain"].decision.pk) not in shown
    assert made.name in shown


def test_the_log_of_a_watching_rule_holds_what_it_would_change(
    at_desk: Client, acme: Account, decided: dict[str, Any]
) -> None:
    with acting(acme):
        watcher = Rule.objects.of(acme).get(name="Watch")
    shown = page(at_desk.get("/rules/decisions/", {"watcher": str(watcher.pk)}))
    assert str(decided["differs"].decision.pk) in shown
    assert str(decided["plain"].decision.pk) not in shown
    assert "Decisions this rule would have changed" in shown
    go(acme, go(acme, watcher, "draft"), "shadow")  # it begins anew
    assert "Nothing matches" in page(at_desk.get("/rules/decisions/", {"watcher": str(watcher.pk)}))
    nobody = {"watcher": "01a00000-0000-7000-8000-000000000000"}
    assert "Nothing matches" in page(at_desk.get("/rules/decisions/", nobody))


def test_a_decision_tells_all_that_led_to_it(
    at_desk: Client, acme: Account, decided: dict[str, Any]
) -> None:
    shown = page(at_desk.get(f"/rules/decisions/{decided['conflicts'].decision.pk}/"))
    for words in ("Prefer curl", "No curl", "tool.curl", "denied by a rule", "&quot;clash&quot;"):
        assert words in shown, words
    watched = page(at_desk.get(f"/rules/decisions/{decided['differs'].decision.pk}/"))
    assert "would change" in watched
    assert "Watch" in watched


def test_conflicts_are_counted_with_who_won(
    at_desk: Client, acme: Account, decided: dict[str, Any]
) -> None:
    select(acme, {"intent": "fetch", "clash": True})
    shown = page(at_desk.get("/rules/conflicts/"))
    for words in ("No curl", "Prefer curl", 'data-label="Count">2<'):
        assert words in shown, words
    other = rule(acme, "Innocent", "active", when={"z": 1})
    assert "No conflicts" in page(at_desk.get("/rules/conflicts/", {"rule": str(other.pk)}))


def test_a_person_says_how_it_went_and_it_counts_once(
    at_desk: Client, acme: Account, decided: dict[str, Any]
) -> None:
    here = f"/rules/decisions/{decided['conflicts'].decision.pk}/"
    assert at_desk.post(f"{here}rate/", {"outcome": "great"}).status_code == 400
    for _each in range(2):
        answer = at_desk.post(f"{here}rate/", {"outcome": "negative", "note": "Too slow."})
        assert answer.status_code == 302
    with acting(acme):
        said = RuleFeedback.objects.of(acme).get()
    assert (said.outcome, said.note, len(said.rule_ids)) == ("negative", "Too slow.", 2)
    for path in (here, "/rules/feedback/"):
        assert "Too slow." in page(at_desk.get(path))
    assert "Nothing matches" in page(at_desk.get("/rules/feedback/", {"outcome": "positive"}))
    only = page(at_desk.get("/rules/feedback/", {"rule": str(said.rule_ids[0])}))
    assert "Too slow." in only


@pytest.mark.parametrize("number", [2, 40])
def test_the_log_costs_the_same_however_much_there_is(
    at_desk: Client,
    acme: Account,
    number: int,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    watching = fill_rules(acme, number)
    last = select(acme, {"n": 0, "word": ""})
    for path, most in (
        ("decisions/", 18),
        ("decisions/?kind=rated&agent_id=", 18),
        (f"decisions/?watcher={watching[0].pk}", 20),
        (f"decisions/{last.decision.pk}/", 20),
        ("conflicts/", 14),
        ("feedback/", 20),
    ):
        with django_assert_max_num_queries(most):
            assert at_desk.get(f"/rules/{path}").status_code == 200, path


def test_a_draft_is_tried_on_what_was_decided(
    at_desk: Client, acme: Account, decided: dict[str, Any]
) -> None:
    made = rule(acme, "A draft", when={"x": {"$exists": True}}, then={"tool": {"deny": ["bash"]}})
    here = f"/rules/{made.pk}/"
    assert "No backtest yet" in page(at_desk.get(here))
    assert at_desk.post(f"{here}backtest/", {"decisions": "100"}).status_code == 302
    assert "0 of 100 decisions" in page(at_desk.get(f"{here}backtest/progress/"))
    settle()
    done = at_desk.get(f"{here}backtest/progress/")
    for words in ("on the last 4 decisions", "<dd>4</dd>", "<dd>2</dd>", "<ins>"):
        assert words in page(done), words
    again = at_desk.get(f"{here}backtest/progress/", headers={"If-None-Match": done["ETag"]})
    assert again.status_code == 304


def test_what_agents_send_never_becomes_markup(at_desk: Client, acme: Account) -> None:
    rule(acme, HOSTILE, "active", when={}, then={"tool": {"prefer": [HOSTILE, "bash"]}})
    rule(acme, HOSTILE, "active", when={}, then={"tool": {"deny": [HOSTILE, "curl"]}})
    rule(acme, HOSTILE, "shadow", when={}, then={"tool": {"prefer": ["grep"]}})
    made = select(acme, {"x": HOSTILE}, run_id=HOSTILE, agent_id=HOSTILE, user_id=HOSTILE)
    here = f"/rules/decisions/{made.decision.pk}/"
    at_desk.post(f"{here}rate/", {"outcome": "negative", "note": HOSTILE})
    for path in ("/rules/decisions/", here, "/rules/conflicts/", "/rules/feedback/"):
        shown = page(at_desk.get(path)).partition("<body")[2]
        for markup in ("<script>alert", "<img src=x", "\u202e"):
            assert markup not in shown, path
