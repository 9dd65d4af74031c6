"""Pages of decisions, conflicts, feedback and backtests."""

from hashlib import sha256
from typing import Any

import pytest
from django.conf import settings
from django.test import Client, override_settings
from pytest_django import DjangoAssertNumQueries as MaxQueries

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account
from kmapp.ledger.canonical import encode_canonical
from rules.actions.backtests import create_backtest
from rules.actions.rules import update_rule
from rules.models import Rule, RuleBacktest, RuleDecision, RuleFeedback
from rules.promotion import evidence
from rules.views.effect_charts import build_effect_charts
from tests import makers
from tests.makers import missing, settle
from tests.rules.builders import add_rule, fill_rules, move_rule, rate, reload_rule, select
from tests.web.pages import page


@pytest.fixture
def decided(acme: Account) -> dict[str, Any]:
    """One decision of each sort."""
    add_rule(
        acme, "Prefer curl", "active", when={"intent": "fetch"}, then={"tool": {"prefer": ["curl"]}}
    )
    add_rule(acme, "Only bash", "active", when={"only": True}, then={"tool": {"allow": ["bash"]}})
    add_rule(acme, "No curl", "active", when={"clash": True}, then={"tool": {"deny": ["curl"]}})
    add_rule(
        acme, "Watch", "shadow", when={"n": 1}, then={"tool": {"deny": ["bash", "curl", "grep"]}}
    )
    return {
        "plain": select(acme, {"x": 1}, run_id="one", agent_id="scout"),
        "differs": select(acme, {"n": 1}, run_id="two", user_id="ada"),
        "conflicts": select(acme, {"intent": "fetch", "clash": True}, run_id="three"),
        "rated": select(acme, {"x": 2}, run_id="four"),
    }


EVERY = {"plain", "differs", "conflicts", "rated"}
FILTERED_QUERIES: list[tuple[dict[str, str], set[str]]] = [
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


def test_log_is_filtered(
    reviewer: Client, acme: Account, decided: dict[str, Any], subtests: pytest.Subtests
) -> None:
    rate(acme, decided["rated"], "positive")
    for query, names in FILTERED_QUERIES:
        with subtests.test(asked=query):
            body = page(reviewer.get("/rules/decisions/", query))
            for name, each in decided.items():
                assert (str(each.decision.pk) in body) == (name in names), name
            if not names:
                assert "Nothing matches" in body


def test_log_is_paginated(reviewer: Client, acme: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    """Decisions of the same instant are not skipped."""
    monkeypatch.setattr("rules.views.decisions.PAGE_SIZE", 2)
    created = [select(acme, {"n": n}).decision for n in range(5)]
    makers.update(RuleDecision, acme, {}, created_at="2030-01-01T00:00:00Z")
    seen, query, address = [], "", "/rules/decisions/?since=2029-01-01"
    for _each in range(3):
        body = page(reviewer.get(address))
        seen += [each.pk for each in created if f"/rules/decisions/{each.pk}/" in body]
        query = body.partition('rel="next" href="')[2].partition('"')[0].replace("&amp;", "&")
        address = f"/rules/decisions/{query}"
    assert (sorted(seen), query) == (sorted(each.pk for each in created), "")
    for odd in ("x", "~", "2030-01-01~x", "2030-01-01T00:00:00~" + str(created[0].pk)):
        assert str(created[4].pk) in page(reviewer.get("/rules/decisions/", {"before": odd}))


def test_log_of_a_shadow_rule_lists_changes(
    reviewer: Client, acme: Account, decided: dict[str, Any]
) -> None:
    watcher = makers.get(Rule, acme, name="Watch")
    body = page(reviewer.get("/rules/decisions/", {"watcher": str(watcher.pk)}))
    assert str(decided["differs"].decision.pk) in body
    assert str(decided["plain"].decision.pk) not in body
    assert "Decisions this rule would have changed" in body
    move_rule(acme, move_rule(acme, watcher, "draft"), "shadow")  # restarts its time in shadow mode
    assert "Nothing matches" in page(
        reviewer.get("/rules/decisions/", {"watcher": str(watcher.pk)})
    )
    nobody = {"watcher": "01a00000-0000-7000-8000-000000000000"}
    assert "Nothing matches" in page(reviewer.get("/rules/decisions/", nobody))


def test_decision_is_explained_and_rated_once_and_conflicts_are_counted(
    reviewer: Client, acme: Account, decided: dict[str, Any]
) -> None:
    here = f"/rules/decisions/{decided['conflicts'].decision.pk}/"
    words = ("Prefer curl", "No curl", "tool.curl", "denied by a rule", "&quot;clash&quot;")
    assert missing(page(reviewer.get(here)), *words) == []
    watched = page(reviewer.get(f"/rules/decisions/{decided['differs'].decision.pk}/"))
    assert missing(watched, "would change", "Watch") == []
    created = decided["conflicts"].evaluation.matched.live[0].rule
    body = page(reviewer.get("/rules/decisions/", {"rule": created.id}))
    assert str(decided["conflicts"].decision.pk) in body, "the log of a rule has its decisions"
    assert str(decided["plain"].decision.pk) not in body
    assert created.name in body

    assert reviewer.post(f"{here}rate/", {"outcome": "great"}).status_code == 400
    for _each in range(2):
        answer = reviewer.post(f"{here}rate/", {"outcome": "negative", "note": "Too slow."})
        assert answer.status_code == 302
    rating = makers.get(RuleFeedback, acme)
    assert (rating.outcome, rating.note, len(rating.rule_ids)) == ("negative", "Too slow.", 2)
    for path in (here, "/rules/feedback/"):
        assert "Too slow." in page(reviewer.get(path))
    assert "Nothing matches" in page(reviewer.get("/rules/feedback/", {"outcome": "positive"}))
    only = page(reviewer.get("/rules/feedback/", {"rule": str(rating.rule_ids[0])}))
    assert "Too slow." in only

    select(acme, {"intent": "fetch", "clash": True})
    body = page(reviewer.get("/rules/conflicts/"))
    assert missing(body, "No curl", "Prefer curl", 'data-label="Count">2<') == []
    other = add_rule(acme, "Innocent", "active", when={"z": 1})
    assert "No conflicts" in page(reviewer.get("/rules/conflicts/", {"rule": str(other.pk)}))


def test_edition_that_no_longer_matches_is_displayed_with_its_change(
    reviewer: Client, acme: Account
) -> None:
    live = add_rule(acme, "No curl", "active")
    with acting(acme):
        narrower = update_rule(
            acme.pk, SYSTEM, live.pk, {"name": "Narrow", "when": {"intent": "fetch", "n": 1}}
        )
    move_rule(acme, narrower, "shadow")
    decided = select(acme, {"intent": "fetch"})
    with acting(acme):
        [effect, _outcome] = build_effect_charts(reload_rule(narrower))
    body = page(reviewer.get(f"/rules/decisions/{decided.decision.pk}/"))
    assert missing(body, "Narrow", "would change") == []
    assert [sum(filter(None, series.values)) for series in effect.series] == [1, 0]


def test_log_query_count(reviewer: Client, acme: Account, max_queries: MaxQueries) -> None:
    watching = fill_rules(acme, 10)
    last = select(acme, {"n": 0, "word": ""})
    for path, most in (
        ("decisions/", 18),
        ("decisions/?kind=rated&agent_id=", 18),
        (f"decisions/?watcher={watching[0].pk}", 20),
        (f"decisions/{last.decision.pk}/", 20),
        ("conflicts/", 14),
        ("feedback/", 20),
    ):
        with max_queries(most):
            assert reviewer.get(f"/rules/{path}").status_code == 200, path


def test_draft_is_backtested_on_the_page(
    reviewer: Client, acme: Account, decided: dict[str, Any]
) -> None:
    created = add_rule(
        acme, "A draft", when={"x": {"$exists": True}}, then={"tool": {"deny": ["bash"]}}
    )
    here = f"/rules/{created.pk}/"
    assert "No backtest yet" in page(reviewer.get(here))
    assert reviewer.post(f"{here}backtest/", {"decisions": "100"}).status_code == 302
    assert "0 of 100 decisions" in page(reviewer.get(f"{here}backtest/progress/"))
    settle()
    done = reviewer.get(f"{here}backtest/progress/")
    assert missing(page(done), "on the last 4 decisions", "<dd>4</dd>", "<dd>2</dd>", "<ins>") == []
    again = reviewer.get(f"{here}backtest/progress/", headers={"If-None-Match": done["ETag"]})
    assert again.status_code == 304


def test_rules_of_the_default_scope_are_listed(acme: Account) -> None:
    add_rule(acme, "Everywhere")
    add_rule(acme, "In the team", scope="team")
    agent = makers.agent(acme)
    for scope, names in (
        ("default", ["Everywhere"]),
        ("", ["Everywhere"]),
        ("team", ["In the team"]),
    ):
        assert [each["name"] for each in agent.get("rules", scope=scope)["rules"]] == names, scope


def test_rules_are_listed_newest_first(acme: Account) -> None:
    created = [add_rule(acme, f"Rule {n}", client_id=f"client-{n}") for n in range(6)]
    agent, listed = makers.agent(acme), list[str]()
    after: dict[str, Any] = {}
    for _page in created:
        answer = agent.get("rules", limit=1, **after)
        listed += [each["name"] for each in answer["rules"]]
        after = {"after": answer["next"]}
    assert listed == [each.name for each in reversed(created)]
    assert after == {"after": None}


def test_history_states_its_limit(
    reviewer: Client, acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = f"/rules/{add_rule(acme, 'Moved', 'active').pk}/"
    assert "Showing the last" not in page(reviewer.get(here))
    monkeypatch.setattr("kmapp.web.version_history.MAX_VERSIONS", 2)
    assert "Showing the last 2 versions." in page(reviewer.get(here))


def test_rule_page_shows_since_when_the_present_state_lasts(
    reviewer: Client, acme: Account
) -> None:
    words = {"shadow": "In shadow since", "active": "Active since"}
    target = add_rule(acme, "Moved")
    for to in ("shadow", "active", "disabled"):
        move_rule(acme, target, to)
        body = page(reviewer.get(f"/rules/{target.pk}/"))
        assert missing(body, *words.values()) == [
            text for each, text in words.items() if each != to
        ]


def test_evidence_ends_when_the_rule_leaves_shadow(acme: Account) -> None:
    watching = add_rule(acme, "Watch", "shadow", then={"tool": {"deny": ["bash"]}})
    agent = makers.agent(acme)
    for to in ("active", "disabled", "shadow"):
        select(acme, {"intent": "fetch"})
        move_rule(acme, watching, to)
        select(acme, {"intent": "fetch"})
        counts = agent.get(f"rules/{watching.pk}/evidence", 200)["counts"]
        assert (counts["changed"], counts["seen"]) == (1, 1), to


def test_narrower_audience_is_evaluated_for_the_former_one(acme: Account) -> None:
    live = add_rule(acme, "No curl", "active")
    select(acme, {"intent": "fetch"}, user_id="kim")
    with acting(acme):
        only_mira = {"audience": "user", "audience_id": "mira"}
        narrower = update_rule(acme.pk, SYSTEM, live.pk, only_mira)
        run = create_backtest(acme.pk, SYSTEM, narrower.pk)
    settle()
    tested = makers.get(RuleBacktest, acme, pk=run.pk)
    assert (tested.seen, tested.matched, tested.changed) == (1, 0, 1)
    move_rule(acme, narrower, "shadow")
    for user_id in ("kim", "mira"):
        select(acme, {"intent": "fetch"}, user_id=user_id)
    for state in ("active", "disabled"):
        move_rule(acme, live, state)
        counts = makers.agent(acme).get(f"rules/{narrower.pk}/evidence", 200)["counts"]
        assert (counts["seen"], counts["matched"], counts["changed"]) == (2, 1, 1), state


def test_backtest_shows_what_changes_with_the_same_tool(reviewer: Client, acme: Account) -> None:
    created = add_rule(acme, "As JSON", when={}, then={"output": {"format": "json"}})
    select(acme, {"x": 1})
    assert reviewer.post(f"/rules/{created.pk}/backtest/", {"decisions": "100"}).status_code == 302
    settle()
    done = page(reviewer.get(f"/rules/{created.pk}/backtest/progress/"))
    words = ("same tool, different values or order", "&quot;format&quot;: &quot;json&quot;")
    assert missing(done, *words) == []


def test_digests_and_ids_reveal_no_redacted_text(acme: Account) -> None:
    agent, path = makers.agent(acme), "memory/tools/feedback"
    context = {"mail": "kim@example.com"}
    body = {"candidates": ["bash"], "selected_tool": "bash", "outcome": "positive"}
    agent.post(path, {**body, "context": context}, 201)
    stored = makers.get(RuleDecision, acme)
    assert stored.context == {"mail": "[email]"}
    assert stored.context_sha256 == sha256(encode_canonical(stored.context)).hexdigest()
    with override_settings(SECRET_KEY="new", SECRET_KEY_FALLBACKS=[settings.SECRET_KEY]):
        agent.post(path, {**body, "context": context}, 200)
    with override_settings(SECRET_KEY="another"):
        agent.post(path, {**body, "context": context}, 201)


def test_evidence_survives_the_deletion_of_its_decisions(
    acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    watching = add_rule(acme, "Watch", "shadow", then={"tool": {"deny": ["bash"]}})
    select(acme, {"intent": "fetch"})
    with acting(acme), monkeypatch.context() as patched:
        patched.setattr(evidence, "_list_decisions_in_shadow", lambda _rule: Rule.objects.none())
        assert 0 < evidence.load_evidence(watching).change.low < 1
