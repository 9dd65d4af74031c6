"""The rule editor: form and JSON, messages, dry run."""

import json
import re
from html import unescape
from typing import Any

import pytest
from django.test import Client

from kmapp.accounts.models import Account
from rules.models import Rule
from tests import makers
from tests.hostile import HOSTILE
from tests.rules.builders import add_rule, reload_rule
from tests.web.pages import default_button, page

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


def submission(agreed: Any = RULE, written: Any = None, **more: Any) -> dict[str, Any]:
    """Return the submitted fields; `agreed` is the rule on which form and JSON last agreed."""
    text = written if isinstance(written, str) else json.dumps(written or agreed)
    return {**FORM, "agreed": json.dumps(agreed), "json": text, **more}


def check(client: Client, form: dict[str, Any]) -> str:
    return page(client.post("/rules/check/", form, headers={"HX-Request": "true"}))


def test_rule_is_written_in_the_form(reviewer: Client, acme: Account) -> None:
    text = page(reviewer.get("/rules/new/"))
    assert "Save draft" in text
    assert default_button(text, 'id="editor"') == '<button type="submit" hidden>', "Enter saves"
    empty: dict[str, Any] = {"if": {}, "then": {}, "exceptions": []}
    answer = reviewer.post("/rules/new/", submission(agreed=empty))
    assert answer.status_code == 302
    created = makers.get(Rule, acme)
    assert (created.state, created.when, created.then) == ("draft", RULE["if"], RULE["then"])


def test_rule_is_written_as_json(reviewer: Client, acme: Account) -> None:
    deep = {**RULE, "if": {"$or": [{"a": 1}, {"b": {"$gt": 2}}]}}
    assert reviewer.post("/rules/new/", submission(written=deep)).status_code == 302
    assert makers.get(Rule, acme).when == deep["if"]


def test_form_and_json_follow_each_other(reviewer: Client) -> None:
    body = check(reviewer, submission(deny="refund, delete"))
    assert '<textarea class="form-control json" id="json"' in body
    assert "&quot;delete&quot;" in body
    assert 'id="rule-form"' not in body
    body = check(reviewer, submission(written={**RULE, "if": {"amount": {"$gt": 5}}}))
    assert 'id="rule-form" hx-swap-oob="true"' in body
    assert 'value="amount"' in body
    assert 'id="json"' not in body
    deep = check(reviewer, submission(written={**RULE, "if": {"$or": [{"a": 1}]}}))
    assert "too complex for the form" in deep


def test_unknown_list_of_tools_stays_in_the_json(reviewer: Client) -> None:
    body = check(reviewer, submission(written={**RULE, "then": {"tool": {"alow": ["refund"]}}}))
    assert "This effect is too complex for the form. Edit it in the JSON." in body
    assert 'value="tools"' not in body, "so the form cannot remove it"


def test_no_condition_is_lost(reviewer: Client, acme: Account) -> None:
    many = {f"path{n}": n for n in range(60)}
    created = add_rule(acme, "Many", when=many, then=RULE["then"])
    here = f"/rules/{created.pk}/edit/"
    assert "too complex for the form" in page(reviewer.get(here))
    values = {"if_path": list(many), "if_op": ["is"] * 60, "if_value": list(many.values())}
    form = submission(agreed={**RULE, "if": many}, **values, deny="refund, delete")
    answer = reviewer.post(here, {**form, "rule": str(created.pk), "version": "1"})
    assert answer.status_code == 302
    assert (reload_rule(created).when, reload_rule(created).version) == (many, 2)


def test_large_rule_is_edited_without_loss(reviewer: Client, acme: Account) -> None:
    """Indented, its JSON has more characters than a field may have."""
    extensions = {"a": {"b": {"c": {"d": [1] * 9_000}}}}
    then = {**RULE["then"], "extensions": extensions}
    created = add_rule(acme, "Large", when=RULE["if"], then=then)
    here = f"/rules/{created.pk}/edit/"
    text = page(reviewer.get(here))
    fields = dict(re.findall(r'<textarea[^>]* name="(agreed|json)"[^>]*>([^<]*)</textarea>', text))
    form = {**FORM, **{name: unescape(value) for name, value in fields.items()}}
    answer = reviewer.post(here, {**form, "deny": "refund, delete", "version": "1"})
    assert answer.status_code == 302
    expected = {"tool": {"deny": ["refund", "delete"]}, "extensions": extensions}
    assert reload_rule(created).then == expected


def test_user_decides_if_form_and_json_changed(reviewer: Client, acme: Account) -> None:
    form = submission(deny="zebra", written={**RULE, "if": {"a": 1}})
    assert "were both changed" in page(reviewer.post("/rules/new/", form), 422)
    body = page(reviewer.post("/rules/new/", {**form, "step": "json"}))
    assert 'value="a"' in body
    assert "zebra" not in body
    body = page(reviewer.post("/rules/new/", {**form, "step": "form"}))
    assert "zebra" in body
    assert not makers.rows(Rule, acme), "steps save nothing"


INVALID: list[tuple[dict[str, Any], str]] = [
    (submission(written="{"), "Invalid JSON. Check line 1, column 2."),
    (submission(written="[]"), "Enter a JSON object"),
    (submission(written=" " * 100_001), "Too large: 100001 characters as JSON"),
    (submission(written='{"if": {"a": 1, "a": 2}}'), "if: the key a occurs twice"),
    (submission(written='{"if": {"a": 1e999}}'), "if.a: the number is too large"),
    (submission(written='{"if": {"a": NaN}}'), "if.a: not a valid JSON value"),
    (
        submission(written='{"if": {"a": "\\u0000"}}'),
        "if.a: contains a character that cannot be stored",
    ),
    (submission(written='{"if": %s}' % ('{"a":' * 99 + "1" + "}" * 99)), "deeper than 64 levels"),
    (submission(written='{"if": {}, "than": {}}'), "Unknown keys: than"),
    (submission(written={**RULE, "if": {"a": {"$like": 1}}}), "Unknown name $like"),
    (submission(written={**RULE, "then": {"tool": {"deny": "curl"}}}), "Enter a list"),
    (submission(written={**RULE, "if": {"a": {"$regex": "("}}}), "Unsupported regular expression"),
    (submission(written={**RULE, "then": {}}), "Empty object: add at least one entry"),
    (submission(if_path=[""]), "but no path"),
    (submission(if_path=["a", "a"], if_op=["is", "$gt"], if_value=["1", "2"]), "Two conditions"),
    (submission(name=""), "required"),
    (submission(audience="user"), "Choose who the rule is for"),
    (submission(audience_id="ada"), "cannot have a single owner"),
    (submission(priority="101"), "100"),
    (submission(if_value=["a\x00b"]), "a character or a number that cannot be stored"),
]


def test_invalid_input_is_reported_and_not_saved(
    reviewer: Client, acme: Account, subtests: pytest.Subtests
) -> None:
    for form, words in INVALID:
        with subtests.test(words):
            assert words in page(reviewer.post("/rules/new/", form), 422)
    assert not makers.rows(Rule, acme)


@pytest.mark.promise(32)
@pytest.mark.parametrize("hostile", HOSTILE, ids=lambda hostile: hostile.name)
def test_hostile_json_is_no_server_error(reviewer: Client, hostile: Any) -> None:
    text = hostile.raw.decode(errors="replace")
    for form in (
        submission(
            written='{"if": {"a": HERE}, "then": {"extensions": {"a": 1}}}'.replace("HERE", text)
        ),
        submission(if_value=[text]),
        submission(context='{"a": HERE}'.replace("HERE", text)),
        submission(agreed=RULE) | {"agreed": text},
    ):
        for address in ("/rules/check/", "/rules/new/"):
            assert reviewer.post(address, form).status_code in (200, 302, 409, 422)


def test_another_line_is_added(reviewer: Client) -> None:
    body = check(reviewer, submission(step="more"))
    assert body.count('name="if_path"') == 4
    assert page(reviewer.post("/rules/new/", submission(step="more"))).count('name="if_path"') == 4


def test_dry_run_shows_match_and_result(reviewer: Client, acme: Account) -> None:
    add_rule(acme, "Prefer", "active", when={}, then={"tool": {"prefer": ["refund"]}})
    trial = {"candidates": "search, refund", "context": '{"intent": "refund"}'}
    body = check(reviewer, submission(**trial))
    assert "The rule applies." in body
    assert "This rule would change the result." in body
    assert "<strong><bdi hx-disable>search</bdi></strong>" in body
    other = check(reviewer, submission(**{**trial, "context": '{"intent": "question"}'}))
    assert "The rule does not apply." in other
    assert "This rule would not change the result." in other
    blocked = submission(
        agreed={**RULE, "exceptions": [{"intent": "refund"}]},
        unless_path=["intent"],
        unless_op=["is"],
        unless_value=["refund"],
        **trial,
    )
    assert "Blocked by an exception:" in check(reviewer, blocked)
    assert "Invalid JSON" in check(reviewer, submission(**{**trial, "context": "{"}))


def test_dry_run_of_a_new_rule_is_in_its_scope(reviewer: Client, acme: Account) -> None:
    add_rule(acme, "Deny", "active", when={}, then={"tool": {"deny": ["refund"]}}, scope="billing")
    trial = submission(candidates="search, refund", context='{"intent": "refund"}')
    assert "This rule would change the result." in check(reviewer, trial)
    in_scope = check(reviewer, {**trial, "scope": "billing"})
    assert "This rule would not change the result." in in_scope


def test_slow_dry_run_ends_with_a_message(
    reviewer: Client, acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_rule(acme, "Tags", "active", when={"tags": ["a"]}, then={"tool": {"prefer": ["refund"]}})
    trial = submission(context='{"intent": "refund", "tags": ["a"]}')
    assert "The rule applies." in check(reviewer, trial)
    monkeypatch.setattr("rules.actions.dry_run.MAX_SECONDS", -1.0)
    assert "The conditions take too long for this context." in check(reviewer, trial)


def test_active_rule_is_edited_as_a_new_edition(reviewer: Client, acme: Account) -> None:
    live = add_rule(acme, "Refunds", "active", when=RULE["if"], then=RULE["then"])
    here = f"/rules/{live.pk}/edit/"
    assert "stays unchanged" in page(reviewer.get(here))
    form = submission(rule=str(live.pk), version=str(live.version), deny="refund, delete")
    answer = reviewer.post(here, form)
    assert answer.status_code == 302
    assert answer.headers["Location"] != f"/rules/{live.pk}/"
    draft = makers.get(Rule, acme, lineage=live.lineage, edition=2)
    assert (draft.state, draft.then) == ("draft", {"tool": {"deny": ["refund", "delete"]}})
    assert (reload_rule(live).state, reload_rule(live).then) == ("active", RULE["then"])
    again = page(reviewer.post(here, {**form, "deny": "x"}), 422)
    assert "newer edition of this rule is already a draft" in again


def test_stale_edit_keeps_the_input_and_is_saved_again(reviewer: Client, acme: Account) -> None:
    created = add_rule(acme, "Refunds", when=RULE["if"], then=RULE["then"])
    here = f"/rules/{created.pk}/edit/"
    first = submission(rule=str(created.pk), version="1", deny="refund, one")
    assert reviewer.post(here, first).status_code == 302
    second = {**first, "deny": "refund, two"}
    refused = page(reviewer.post(here, second), 422)
    expected = ("Someone else changed this", "refund, two", 'name="version" value="2"')
    assert makers.missing(refused, *expected) == []
    assert reviewer.post(here, {**second, "version": "2"}).status_code == 302
    assert reload_rule(created).then == {"tool": {"deny": ["refund", "two"]}}
