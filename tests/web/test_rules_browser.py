"""The life of a rule in a browser."""

import json
import re

import pytest
from playwright.sync_api import Page, expect

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account, User
from rules.models import Rule, RuleDecision, RuleVersion
from tests import makers
from tests.makers import settle
from tests.rules.builders import add_rule, fill_rules, rate, select, set_gate
from tests.web.browser import Visitor

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("module_commits")]

FETCH = {"intent": "fetch", "amount": 120}


def get_new_rule(account: Account) -> Rule:
    return makers.get(Rule, account, name="No grep 规则")


def record_decisions(account: Account, number: int, outcome: str = "") -> None:
    for _each in range(number):
        decided = select(account, FETCH)
        if outcome:
            rate(account, decided, outcome)


def write_rule(page: Page) -> None:
    """Edit the form and then the JSON; each is updated from the other."""
    page.keyboard.press("n")
    page.fill("#id_name", "No grep 规则")
    lines = page.locator("[name=if_path]")
    lines.first.fill("intent")
    page.locator("[name=if_value]").first.fill("fetch")
    page.fill("#tool-prefer", "grep")
    expect(page.locator("#json")).to_have_value(re.compile(r'"prefer": \[\s*"grep"'))
    text = json.loads(page.input_value("#json"))
    assert text == {
        "if": {"intent": "fetch"},
        "then": {"tool": {"prefer": ["grep"]}},
        "exceptions": [],
    }
    page.fill("#json", "{")
    expect(page.locator("#wrong-json .field-error")).to_be_visible()
    text["if"]["amount"] = {"$gte": 100}
    text["exceptions"] = [{"user.role": "staff"}]
    page.fill("#json", json.dumps(text))
    expect(page.locator("[name=unless_path]").first).to_have_value("user.role")
    expect(page.locator("#wrong-json .field-error")).to_have_count(0)
    expect(lines).to_have_count(3)
    page.fill("#context", json.dumps(FETCH))
    page.fill("#candidates", "bash, grep")
    expect(page.locator("#checked dd strong")).to_have_text("grep")
    page.locator("[data-key='Mod+Enter']").click()


def run_backtest(page: Page) -> None:
    """Run a backtest; the page updates itself."""
    page.keyboard.press("t")
    expect(page.locator("#backtest .meter")).to_be_visible()
    settle()
    page.mouse.move(0, 0)
    figures = page.locator("#backtest .figures dd")
    expect(figures).to_have_text(["4", "4", "4"])


def move_to_shadow(page: Page, account: Account) -> None:
    page.fill("#reason", "看看效果 let it watch")
    page.locator("button[name=to][value=shadow]").click()
    expect(page.locator(".badge-state.is-violet").first).to_be_visible()
    record_decisions(account, 3, "negative")


def promote_rule(page: Page) -> None:
    page.locator(".topline [data-key=p]").click()
    expect(page.locator(".checks-of-gate .is-met")).to_have_count(3)
    expect(page.locator(".figures dd").first).to_have_text("3")
    page.fill("#reason", "It has shown enough 证据充分")
    page.locator("[data-key='Mod+Enter']").click()
    expect(page.locator(".badge-state.is-green").first).to_be_visible()


def roll_back_rule(page: Page) -> None:
    page.locator("#notices [data-key=u]").click()
    expect(page.locator(".badge-state.is-violet").first).to_be_visible()


def test_rule_life_cycle(visitor: Visitor, acme: Account, ada: User) -> None:
    set_gate(acme, min_seen=3, min_changed=3, max_against=1.0)
    record_decisions(acme, 4)
    visitor.sign_in(ada)
    visitor.prefers(theme="auto", language="zh-hans")
    visitor.go("/rules/")
    page = visitor.page
    write_rule(page)
    expect(page.locator("#backtest")).to_be_visible()
    new = get_new_rule(acme)
    assert (new.state, new.exceptions) == ("draft", [{"user.role": "staff"}])
    run_backtest(page)
    move_to_shadow(page, acme)
    promote_rule(page)
    assert get_new_rule(acme).state == "active"
    roll_back_rule(page)
    assert get_new_rule(acme).state == "shadow"
    with acting(acme):
        result = RuleVersion.objects.of(acme).filter(rule=new).order_by("version")
        events = list(result.values_list("event", "reason"))
    assert [event for event, _reason in events] == ["ADD", "SHADOW", "PROMOTE", "ROLLBACK"]
    assert events[1][1] == "看看效果 let it watch"


def test_added_conditions_leave_the_focus_at_their_button(visitor: Visitor, ada: User) -> None:
    visitor.sign_in(ada)
    visitor.go("/rules/new/")
    more = visitor.page.get_by_role("button", name="Add conditions")
    more.press("Enter")
    expect(visitor.page.locator("[name=if_path]")).to_have_count(3)
    expect(more).to_be_focused()


def test_rule_pages_are_accessible(visitor: Visitor, acme: Account, ada: User) -> None:
    visitor.sign_in(ada)
    assert visitor.inspect("/rules/") == []
    watching = fill_rules(acme, 1)[0]
    add_rule(acme, "Deny", "active", when={}, then={"tool": {"deny": ["bash"]}})
    select(acme, {"n": 0, "word": acme.name})
    with acting(acme):
        decision = RuleDecision.objects.of(acme).exclude(conflicts=[]).first()
        assert decision is not None
    errors = []
    for path in (
        "",
        "new/",
        f"{watching.pk}/",
        f"{watching.pk}/edit/",
        f"{watching.pk}/promotion/",
        "gate/",
        "decisions/",
        f"decisions/{decision.pk}/",
        "conflicts/",
        "feedback/",
    ):
        errors += visitor.inspect(f"/rules/{path}")
    assert errors == []
