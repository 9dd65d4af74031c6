"""Parts of a page around a filtered list that change with the filters."""

import pytest
from django.test import Client

from kmapp.accounts.models import Account
from tests import makers
from tests.makers import missing
from tests.web.pages import HTMX, page

OUTSIDE = 'hx-swap-oob="true"'


def test_searched_text_is_the_one_to_save(reviewer: Client, acme: Account) -> None:
    makers.write(acme, "Tea at noon.")
    assert OUTSIDE not in page(reviewer.get("/search/", {"q": "noon"}))
    swapped = page(reviewer.get("/search/", {"q": "tea"}, headers=HTMX))
    form = swapped.partition(OUTSIDE)[2]
    assert missing(form, 'name="q" value="tea"', "Save search") == []
    assert "Your searches" not in swapped
    nothing = page(reviewer.get("/search/", {"q": ""}, headers=HTMX))
    assert missing(nothing, OUTSIDE, "Your searches", "noon") == []
    assert "Save search" not in nothing


def test_states_of_rules_keep_the_filters_which_can_be_cleared(
    reviewer: Client, acme: Account
) -> None:
    assert OUTSIDE not in page(reviewer.get("/rules/"))
    swapped = page(reviewer.get("/rules/", {"q": "tea", "state": "draft"}, headers=HTMX))
    states = swapped.partition('<nav class="views" id="states"')[2]
    polled = 'data-poll="/rules/counts/?q=tea&amp;state=draft"'
    assert missing(states, OUTSIDE, polled, 'href="?q=tea&amp;state=shadow"') == []
    for path in ("/calls/", "/tool-results/", "/sessions/"):
        assert f'href="{path}">Clear</a>' in page(reviewer.get(path))


def test_values_that_are_not_valid_are_reported(
    reviewer: Client, acme: Account, subtests: pytest.Subtests
) -> None:
    for path, query, name in (
        ("/calls/", {"total": "many"}, "Minimum tokens"),
        ("/calls/", {"cites": "x"}, "cites"),
        ("/rules/", {"audience": "nobody"}, "Applies to"),
        ("/rules/decisions/", {"since": "never"}, "From"),
        ("/rules/feedback/", {"outcome": "good"}, "Outcome"),
        ("/knowledge/documents/", {"review": "late"}, "Review"),
        ("/memory/", {"kind": "thought"}, "kind"),
    ):
        with subtests.test(path=path, query=query):
            report = page(reviewer.get(path, query)).partition("were ignored:")[2]
            assert name in report.partition("</p>")[0]
            assert "were ignored:" not in page(reviewer.get(path))


def test_less_used_filters_are_folded_until_one_has_a_value(
    reviewer: Client, acme: Account, subtests: pytest.Subtests
) -> None:
    folded, unfolded = '<details class="more">', '<details class="more" open>'
    for path, first, more in (
        ("/memory/", {"user_id": "ada"}, {"agent_id": "cook"}),
        ("/calls/", {"agent_id": "cook"}, {"total": "5"}),
        ("/rules/decisions/", {"run_id": "7"}, {"user_id": "ada"}),
    ):
        with subtests.test(path=path):
            assert folded in page(reviewer.get(path))
            assert folded in page(reviewer.get(path, first))
            assert unfolded in page(reviewer.get(path, more))
            for name in (*first, *more):
                assert page(reviewer.get(path)).count(f'name="{name}"') == 1
    assert 'class="more"' not in page(reviewer.get("/rules/"))
