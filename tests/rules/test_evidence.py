"""Evidence for rules: backtests, suggestions, and the gate over HTTP."""

from typing import Any

import pytest
from django.test import Client

from kmapp.accounts.acting import acting, current_account_id
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account
from kmapp.accounts.scopes import Scope
from kmapp.errors import Invalid
from kmapp.ledger.models import Note
from kmapp.outbox.deliver import deliver_due
from kmapp.outbox.registry import PermanentFailure, RetryLater
from rules.actions import backtests
from rules.actions.backtests import create_backtest, run_backtest
from rules.actions.rules import update_rule
from rules.actions.suggestions import replace_suggestions
from rules.models import Rule, RuleBacktest, RuleDecision, RuleSuggestion
from rules.promotion.evidence import PromotionEvidence, ToolChange, list_tool_changes, load_evidence
from tests import makers
from tests.rules.builders import add_rule, move_rule, rate, reload_rule, select, set_gate

CONTEXTS: list[dict[str, Any]] = [
    {"intent": ("fetch", "build")[i % 2], "n": i, "user": {"tier": ("pro", "free")[i % 3 > 0]}}
    for i in range(24)
]


def backtest(account: Account, created: Rule) -> RuleBacktest:
    with acting(account):
        run = create_backtest(account.pk, SYSTEM, created.pk)
    makers.settle()
    return makers.get(RuleBacktest, account, pk=run.pk)


def evidence(created: Rule) -> PromotionEvidence:
    with acting(created.account_id):
        return load_evidence(reload_rule(created))


DRAFTS: list[dict[str, Any]] = [
    {"when": {"intent": "fetch"}, "then": {"tool": {"deny": ["bash"]}}},
    {"when": {"user.tier": "pro"}, "then": {"tool": {"prefer": ["grep"]}}},
    {"when": {"n": {"$gt": 11}}, "then": {"output": {"strict": True}}},
    {"when": {}, "then": {"tool": {"allow": ["vim"]}}},
    {"when": {}, "then": {"tool": {"deny": ["vim"]}}},
    {"when": {}, "then": {"tool": {"deny": ["bash"]}}, "exceptions": [{"n": 3}, {"n": 4}]},
    {"when": {}, "audience": "agent", "audience_id": "bot-7"},
]


def test_backtest_predicts_the_evidence_in_shadow_mode(acme: Account) -> None:
    add_rule(
        acme, "live", "active", when={"user.tier": "free"}, then={"tool": {"prefer": ["curl"]}}
    )
    drafts = [add_rule(acme, f"draft {i}", **fields) for i, fields in enumerate(DRAFTS)]
    for i, context in enumerate(CONTEXTS):
        select(acme, context, agent_id=("bot-7", "")[i % 2])
    tests = [backtest(acme, draft) for draft in drafts]
    for draft in drafts:
        move_rule(acme, draft, "shadow")
    for i, context in enumerate(CONTEXTS):
        select(acme, context, agent_id=("bot-7", "")[i % 2])
    for draft, test in zip(drafts, tests, strict=True):
        seen = evidence(draft)
        assert test.status == "succeeded"
        predicted = (test.seen, test.matched, test.changed)
        assert predicted == (seen.seen, seen.matched, seen.changed), draft.name
        assert test.seen > 0


def test_backtest_of_an_edition_replaces_the_active_one(
    acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    live = add_rule(acme, "live", "active")
    for context in CONTEXTS:
        select(acme, context)
    with acting(acme):
        narrower = update_rule(acme.pk, SYSTEM, live.pk, {"when": {"intent": "fetch", "n": 0}})
    with monkeypatch.context() as patched:  # a backtest does not evaluate other shadow rules
        patched.delattr("rules.evaluation.matching._match_shadow")
        test = backtest(acme, narrower)
    move_rule(acme, narrower, "shadow")
    for context in CONTEXTS:
        select(acme, context)
    seen = evidence(narrower)
    assert (test.matched, test.changed) == (1, 11), "curl comes back where it was denied"
    assert (seen.matched, seen.changed) == (1, 11)


def test_aborted_backtest_is_failed(acme: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    created = add_rule(acme, "Tried")
    select(acme, {"intent": "fetch"})
    with acting(acme):
        run = create_backtest(acme.pk, SYSTEM, created.pk)

    def fail(*_anything: object) -> None:
        raise PermanentFailure("It cannot be.")

    monkeypatch.setattr(backtests, "_evaluate_batch", fail)
    deliver_due("default", seconds=30)
    with acting(acme):
        run.refresh_from_db()
    assert (run.status, run.is_unfinished) == ("failed", False)
    assert run.finished_at


def test_slow_backtest_is_failed(acme: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    created = add_rule(acme, "Tried", when={"tags": ["a"]})
    select(acme, {"tags": ["a"]})
    with acting(acme):
        run = create_backtest(acme.pk, SYSTEM, created.pk)
    monkeypatch.setattr(backtests, "BATCH_SECONDS", -1.0)
    deliver_due("default", seconds=30)
    with acting(acme):
        run.refresh_from_db()
    assert run.status == "failed"


def test_backtest_evaluates_outside_a_transaction(
    acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    created = add_rule(acme, "Tried")
    select(acme, {"intent": "fetch"})
    acted_for: list[Any] = []

    def observe(*_anything: object) -> None:
        acted_for.append(current_account_id())

    monkeypatch.setattr(backtests, "_observe_decision", observe)
    assert backtest(acme, created).status == "succeeded"
    assert acted_for == [None]


def test_long_backtest_is_continued_by_later_runs(
    acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    created = add_rule(acme, "no bash", then={"tool": {"deny": ["bash"]}})
    for context in CONTEXTS[:3]:
        select(acme, context)
    monkeypatch.setattr(backtests, "BATCH_SIZE", 1)
    monkeypatch.setattr(backtests, "RUN_SECONDS", 0.0)
    with acting(acme):
        run = create_backtest(acme.pk, SYSTEM, created.pk)
        with pytest.raises(RetryLater):
            run_backtest(acme.pk, run.pk)
        run.refresh_from_db()
        assert (run.status, run.seen, run.total) == ("running", 1, 3)
    deliver_due("default", seconds=30)
    with acting(acme):
        run.refresh_from_db()
    assert (run.status, run.seen, run.total) == ("succeeded", 3, 3)


def test_unfinished_backtests_are_limited(
    agent: Client, acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kmapp.outbox.background_evaluation_model.MAX_UNFINISHED", 2)
    paths = [f"/v1/rules/{add_rule(acme, name).pk}/backtest" for name in ("one", "two", "three")]

    def start(path: str) -> Any:
        return agent.post(path, {}, content_type=JSON)

    assert [start(path).status_code for path in paths] == [202, 202, 409]
    assert start(paths[0]).json()["error"] == "too_many_runs"
    deliver_due("default", seconds=30)
    assert start(paths[2]).status_code == 202


def test_invalid_rule_has_no_backtest(acme: Account) -> None:
    wrong = add_rule(acme, "wrong", then={"output": {"format": "xml"}})
    with acting(acme), pytest.raises(Invalid):
        create_backtest(acme.pk, SYSTEM, wrong.pk)


def test_evidence_counts_good_and_bad_feedback(acme: Account) -> None:
    watching = add_rule(acme, "no bash", "shadow", then={"tool": {"deny": ["bash"]}})
    outcomes = ["positive", "negative", "negative", "neutral"]
    for i, outcome in enumerate(outcomes):
        rate(acme, select(acme, {"intent": "fetch", "n": i}), outcome)
        rate(acme, select(acme, {"intent": "build", "n": i}), outcome)
    seen = evidence(watching)
    assert (seen.seen, seen.matched, seen.changed) == (8, 4, 4)
    assert (seen.changed_good, seen.changed_bad) == (1, 2)
    assert (seen.against.hits, seen.against.total) == (1, 3)


def test_evidence_lists_changed_selections(acme: Account) -> None:
    watching = add_rule(acme, "no bash", "shadow", then={"tool": {"deny": ["bash"]}})
    for outcome in ("positive", "negative", "very_negative", "neutral"):
        rate(acme, select(acme, {"intent": "fetch"}), outcome)
    select(acme, {"intent": "build"})
    live = add_rule(acme, "live", "active", then={"tool": {"prefer": ["curl"]}})
    select(acme, {"intent": "fetch"})
    move_rule(acme, live, "disabled")
    add_rule(acme, "none", "active", when={"n": 1}, then={"tool": {"allow": ["bash"]}})
    select(acme, {"intent": "fetch", "n": 1})
    with acting(acme):
        turns = list_tool_changes(reload_rule(watching))
    assert turns == [
        ToolChange(selected="bash", would_select="curl", times=5, positive=1, negative=2),
        ToolChange(selected="curl", would_select="curl", times=1, positive=0, negative=0),
    ]


def test_job_suggests_without_changing_states(acme: Account) -> None:
    set_gate(acme, min_seen=4, min_changed=2, max_against=0.7)
    good = add_rule(acme, "good", "shadow", then={"tool": {"deny": ["bash"]}})
    add_rule(acme, "silent", "shadow", when={"intent": "never"})
    bad = add_rule(acme, "bad", "active", when={}, then={"tool": {"prefer": ["bash"]}})
    for i in range(12):
        rate(acme, select(acme, {"intent": "fetch", "n": i}), "very_negative")
    before = {one.pk: one.version for one in (good, bad)}
    with acting(acme):
        for _ in range(2):
            assert replace_suggestions(acme.pk) == 2
        results = {s.rule_id: s.kind for s in RuleSuggestion.objects.of(acme)}
    assert results == {good.pk: "promote", bad.pk: "demote"}
    assert {one.pk: reload_rule(one).version for one in (good, bad)} == before


JSON = "application/json"


def change(agent: Client, **body: Any) -> Any:
    return agent.patch("/v1/rules/gate", body, content_type=JSON)


def test_gate_is_read_and_set_with_a_reason_and_the_override_scope(
    agent: Client, acme: Account
) -> None:
    default = agent.get("/v1/rules/gate").json()
    assert default == {
        "min_seen": 100,
        "min_changed": 20,
        "max_against": 0.5,
        "second_person": False,
        "decision_days": None,
    }
    invalid: list[dict[str, Any]] = [
        *({}, {"min_seen": -1}, {"max_against": 1.5}, {"max_against": "most"}),
        *({"decision_days": 0}, {"min_changed": 10**9}),
    ]
    for body in invalid:
        assert change(agent, **body, reason="Why not.").status_code == 400, body
    assert change(agent, min_seen=7).status_code == 400, "no reason"
    _key, secret = makers.key(acme, scopes=[Scope.RULES_READ, Scope.RULES_WRITE])
    writer = Client(headers={"Authorization": f"Bearer {secret}"})
    assert change(writer, min_seen=0, reason="Let me through.").status_code == 403
    assert writer.get("/v1/rules/gate").json() == default
    changed = change(agent, min_seen=7, decision_days=30, reason="A small team.").json()
    assert changed == {**default, "min_seen": 7, "decision_days": 30}
    assert change(agent, decision_days=None, reason="Keep them.").json()["decision_days"] is None


def test_evidence_lists_changes_and_conflicts(agent: Client, acme: Account) -> None:
    live = add_rule(acme, "Prefer", "active", when={}, then={"tool": {"prefer": ["bash"]}})
    created = add_rule(acme, "Deny", "shadow", when={}, then={"tool": {"deny": ["bash"]}})
    last = [select(acme, {"n": n}) for n in range(2)][-1]
    rate(acme, last, "negative")
    evidence = agent.get(f"/v1/rules/{created.pk}/evidence").json()
    turn = {"selected": "bash", "would_select": "curl", "times": 2, "positive": 0, "negative": 1}
    assert evidence["turns"] == [turn]
    assert evidence["conflicts"] == [
        {
            "path": "tool.bash",
            "code": "preferred_but_denied",
            "winner_rule_node_id": str(created.pk),
            "loser_rule_node_ids": [str(live.pk)],
            "times": 2,
            "latest_decision_id": str(last.decision.pk),
        }
    ]


def test_text_with_the_outcome_is_redacted_and_its_digest_is_not(
    agent: Client, acme: Account
) -> None:
    rated, digest = add_rule(acme, "Rated"), f"{'a' * 24}4111111111111111{'b' * 24}"
    for text in ({"input_text": "Ask lin.xu@example.com."}, {"input_sha256": digest}):
        body = {"outcome": "positive", **text}
        answer = agent.post(f"/v1/rules/{rated.pk}/feedback", body, content_type=JSON)
        assert answer.status_code == 201
    notes = [note.input for note in makers.rows(Note, acme)]
    assert {"Ask [email].", digest} <= {note for note in notes if isinstance(note, str)}
    assert "lin.xu" not in str(notes)


def test_repeated_selection_is_one_decision(agent: Client, acme: Account) -> None:
    body = {"context": {}, "candidates": ["bash", "curl"], "run_id": "r"}
    key = {"Idempotency-Key": "k"}
    first, again = (
        agent.post("/v1/memory/tools/select", body, content_type=JSON, headers=key)
        for _ in range(2)
    )
    assert again.json() == first.json()
    assert again.headers["Idempotent-Replayed"] == "true"
    assert makers.count(RuleDecision, acme) == 1
