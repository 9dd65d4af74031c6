"""Writing rules on the page: two sides in step, wrong things said in place, tried, saved."""

import json
from typing import Any

import pytest
from django.test import Client

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account, User
from rules.models import Rule
from tests.hostile import HOSTILE
from tests.rules.making import now, page, rule

RULE: dict[str, Any] = {
    "if": {"intent": "refund"},
    "then": {"tool": {"deny": ["refund"]}},
    "exceptions": [],
}
FIELDS = {"name": "Refunds", "audience": "account", "priority": "0", "weight": "1"}
FORM = {
    **FIELDS,
    "shown": ["if", "unless", "tools", "format"],
    "if_path": ["intent"],
    "if_op": ["is"],
    "if_value": ["refund"],
    "deny": "refund",
    "allow": "",
    "prefer": "",
    "format": "",
}


@pytest.fixture
def at_desk(client: Client, alice: User) -> Client:
    client.force_login(alice)
    return client


def said(agreed: Any = RULE, written: Any = None, **more: Any) -> dict[str, Any]:
    """What the page sends: what both agreed last, the JSON, the form."""
    text = written if isinstance(written, str) else json.dumps(written or agreed)
    return {**FORM, "agreed": json.dumps(agreed), "json": text, **more}


def check(client: Client, form: dict[str, Any]) -> str:
    return page(client.post("/rules/check/", form, headers={"HX-Request": "true"}))


def test_a_rule_is_written_in_the_form(at_desk: Client, acme: Account) -> None:
    assert "Save draft" in page(at_desk.get("/rules/new/"))
    empty: dict[str, Any] = {"if": {}, "then": {}, "exceptions": []}
    answer = at_desk.post("/rules/new/", said(agreed=empty))
    assert answer.status_code == 302
    with acting(acme):
        made = Rule.objects.of(acme).get()
    assert (made.state, made.when, made.then) == ("draft", RULE["if"], RULE["then"])


def test_a_rule_is_written_as_json(at_desk: Client, acme: Account) -> None:
    deep = {**RULE, "if": {"$or": [{"a": 1}, {"b": {"$gt": 2}}]}}
    assert at_desk.post("/rules/new/", said(written=deep)).status_code == 302
    with acting(acme):
        assert Rule.objects.of(acme).get().when == deep["if"]


def test_each_side_follows_the_other(at_desk: Client) -> None:
    shown = check(at_desk, said(deny="refund, delete"))
    assert '<textarea class="form-control json" id="json"' in shown
    assert "&quot;delete&quot;" in shown
    assert 'id="rule-form"' not in shown
    shown = check(at_desk, said(written={**RULE, "if": {"amount": {"$gt": 5}}}))
    assert 'id="rule-form" hx-swap-oob="true"' in shown
    assert 'value="amount"' in shown
    assert 'id="json"' not in shown
    deep = check(at_desk, said(written={**RULE, "if": {"$or": [{"a": 1}]}}))
    assert "too complex for the form" in deep


def test_where_both_were_changed_somebody_says_which_counts(at_desk: Client, acme: Account) -> None:
    form = said(deny="zebra", written={**RULE, "if": {"a": 1}})
    assert "were both changed" in page(at_desk.post("/rules/new/", form), 422)
    shown = page(at_desk.post("/rules/new/", {**form, "step": "json"}))
    assert 'value="a"' in shown
    assert "zebra" not in shown
    shown = page(at_desk.post("/rules/new/", {**form, "step": "form"}))
    assert "zebra" in shown
    with acting(acme):
        assert not Rule.objects.of(acme).exists(), "steps save nothing"


@pytest.mark.parametrize(
    ("form", "words"),
    [
        (said(written="{"), "Invalid JSON. Check line 1, column 2."),
        (said(written="[]"), "Enter a JSON object"),
        (said(written='{"if": {"a": 1, "a": 2}}'), "if: the key a occurs twice"),
        (said(written='{"if": {"a": 1e999}}'), "if.a: the number is too large"),
        (said(written='{"if": {"a": NaN}}'), "if.a: not a valid JSON value"),
        (
            said(written='{"if": {"a": "\\u0000"}}'),
            "if.a: contains a character that cannot be stored",
        ),
        (said(written='{"if": %s}' % ('{"a":' * 99 + "1" + "}" * 99)), "deeper than 64 levels"),
        (said(written='{"if": {}, "than": {}}'), "Unknown keys: than"),
        (said(written={**RULE, "if": {"a": {"$like": 1}}}), "Unknown name $like"),
        (said(written={**RULE, "then": {"tool": {"deny": "curl"}}}), "Enter a list"),
        (said(written={**RULE, "if": {"a": {"$regex": "("}}}), "Unsupported regular expression"),
        (said(written={**RULE, "then": {}}), "Empty object: add at least one entry"),
        (said(if_path=[""]), "but no path"),
        (said(if_path=["a", "a"], if_op=["is", "$gt"], if_value=["1", "2"]), "Two conditions"),
        (said(name=""), "required"),
        (said(audience="user"), "Choose who the rule is for"),
        (said(audience_id="ada"), "cannot have a single owner"),
        (said(priority="101"), "100"),
        (said(if_value=["a\x00b"]), "a character or a number that cannot be stored"),
    ],
)
def test_what_is_wrong_is_said_in_place_and_not_saved(
    at_desk: Client, acme: Account, form: dict[str, Any], words: str
) -> None:
    assert words in page(at_desk.post("/rules/new/", form), 422)
    with acting(acme):
        assert not Rule.objects.of(acme).exists()


@pytest.mark.promise(32)
@pytest.mark.parametrize("hostile", HOSTILE, ids=lambda hostile: hostile.name)
def test_hostile_json_is_refused_or_kept_as_words(at_desk: Client, hostile: Any) -> None:
    text = hostile.raw.decode(errors="replace")
    for form in (
        said(written='{"if": {"a": HERE}, "then": {"extensions": {"a": 1}}}'.replace("HERE", text)),
        said(if_value=[text]),
        said(context='{"a": HERE}'.replace("HERE", text)),
        said(agreed=RULE) | {"agreed": text},
    ):
        for address in ("/rules/check/", "/rules/new/"):
            assert at_desk.post(address, form).status_code in (200, 302, 409, 422)


def test_lines_are_added_and_kept(at_desk: Client) -> None:
    shown = check(at_desk, said(step="more"))
    assert shown.count('name="if_path"') == 4
    assert page(at_desk.post("/rules/new/", said(step="more"))).count('name="if_path"') == 4


def test_trying_says_what_holds_and_what_would_come_of_it(at_desk: Client, acme: Account) -> None:
    rule(acme, "Prefer", "active", when={}, then={"tool": {"prefer": ["refund"]}})
    trial = {"candidates": "search, refund", "context": '{"intent": "refund"}'}
    shown = check(at_desk, said(**trial))
    assert "The rule applies." in shown
    assert "This rule would change the result." in shown
    assert "<strong><bdi hx-disable>search</bdi></strong>" in shown
    other = check(at_desk, said(**{**trial, "context": '{"intent": "question"}'}))
    assert "The rule does not apply." in other
    assert "This rule would not change the result." in other
    blocked = said(
        agreed={**RULE, "exceptions": [{"intent": "refund"}]},
        unless_path=["intent"],
        unless_op=["is"],
        unless_value=["refund"],
        **trial,
    )
    assert "Blocked by an exception:" in check(at_desk, blocked)
    assert "Invalid JSON" in check(at_desk, said(**{**trial, "context": "{"}))


def test_a_rule_that_counts_is_edited_as_a_new_edition(at_desk: Client, acme: Account) -> None:
    live = rule(acme, "Refunds", "active", when=RULE["if"], then=RULE["then"])
    here = f"/rules/{live.pk}/edit/"
    assert "stays unchanged" in page(at_desk.get(here))
    form = said(rule=str(live.pk), version=str(live.version), deny="refund, delete")
    answer = at_desk.post(here, form)
    assert answer.status_code == 302
    assert answer.headers["Location"] != f"/rules/{live.pk}/"
    with acting(acme):
        draft = Rule.objects.of(acme).get(lineage=live.lineage, edition=2)
    assert (draft.state, draft.then) == ("draft", {"tool": {"deny": ["refund", "delete"]}})
    assert (now(live).state, now(live).then) == ("active", RULE["then"])
    again = page(at_desk.post(here, {**form, "deny": "x"}), 422)
    assert "newer edition of this rule is already a draft" in again


def test_a_stale_edit_loses_nothing(at_desk: Client, acme: Account) -> None:
    made = rule(acme, "Refunds", when=RULE["if"], then=RULE["then"])
    here = f"/rules/{made.pk}/edit/"
    first = said(rule=str(made.pk), version="1", deny="refund, one")
    assert at_desk.post(here, first).status_code == 302
    refused = page(at_desk.post(here, {**first, "deny": "refund, two"}), 422)
    assert "Someone else changed this rule" in refused
    assert "refund, two" in refused
