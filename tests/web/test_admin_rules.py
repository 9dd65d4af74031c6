"""The stock admin leads to a state by the same ways as the pages, and by no other."""

import pytest
from django.test import Client

from kmapp.accounts.models import Account
from rules.models import Rule
from tests.rules.making import gate, now, rule, watched
from tests.web.pages import html
from tests.web.staff import address, staff
from tests.web.test_admin_decisions import decide


def test_rule_is_promoted_and_rolled_back(superuser: Client, acme: Account) -> None:
    made = watched(acme)
    assert "1 row was changed." in decide(superuser, Rule, "count", [made.pk])
    assert now(made).state == "active"
    assert "1 row was changed." in decide(superuser, Rule, "roll_back", [made.pk])
    assert now(made).state == "shadow"


@pytest.mark.parametrize(
    ("state", "second_person", "words"),
    [
        ("draft", False, "Move it to shadow first"),
        ("disabled", False, "Move it to shadow first"),
        ("shadow", False, "Not enough evidence"),
        ("shadow", True, "second person"),
    ],
)
def test_promotion_respects_the_gate(
    superuser: Client, acme: Account, state: str, *, second_person: bool, words: str
) -> None:
    gate(acme, second_person=second_person)
    made = rule(acme, "A rule", state)
    assert words in decide(superuser, Rule, "count", [made.pk])
    assert now(made).state == state


def test_promotion_needs_a_second_person(superuser: Client, acme: Account) -> None:
    made = watched(acme)
    gate(acme, second_person=True)
    assert "second person" in decide(superuser, Rule, "count", [made.pk])
    assert now(made).state == "shadow"


def test_reviewer_can_only_move_drafts_to_shadow(client: Client, acme: Account) -> None:
    client.force_login(staff(acme, "rev", role="reviewer"))
    draft, live = rule(acme, "A draft"), rule(acme, "Live", "active")
    shown = html(client.get(address(Rule)))
    for verb in ("count", "roll_back", "disable"):
        assert f'value="{verb}"' not in shown
        decide(client, Rule, verb, [live.pk])
    assert "Only an admin" in decide(client, Rule, "move_to_shadow", [live.pk])
    assert now(live).state == "active"
    decide(client, Rule, "move_to_shadow", [draft.pk])
    assert now(draft).state == "shadow"
