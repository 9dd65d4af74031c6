"""The pages of comparisons: asked for in a form, followed, read."""

import pytest
from django.test import Client

from context.models import ContextComparison
from context.models.archives import ArchiveScope
from kmapp.accounts.models import Account
from tests import makers
from tests.context.calling import call, talk
from tests.makers import settle
from tests.web.pages import page

pytestmark = pytest.mark.usefixtures("tokenizer")


def test_empty_list_explains_comparisons(reviewer: Client) -> None:
    assert "No comparisons yet" in page(reviewer.get("/calls/comparisons/"))


def test_comparison_is_started_followed_and_shown(reviewer: Client, acme: Account) -> None:
    [entry] = makers.write(acme, "The kiln is by the pond.", user_id="u")
    for _ in range(2):
        call(acme, talk(1), sources=("memory",), within=ArchiveScope(user_id="u"))
    form = {"calls": "100", "right-snippet_tokens": "0", "right-most_snippet_tokens": "0"}
    answer = reviewer.post("/calls/comparisons/new/", form)
    assert answer.status_code == 302
    place = answer["Location"]
    said = page(reviewer.get(place))
    assert "data-poll" in said
    settle()
    said = page(reviewer.get(place))
    assert "data-poll" not in said
    assert "Maximum tokens for retrieved texts: " in said
    assert f"memory:{entry.pk}" in said
    assert "No calls match this filter." in page(reviewer.get(place, {"show": "no_longer_fitting"}))
    followed = reviewer.get(f"{place}progress/")
    assert "calls losing evidence" in page(followed)
    again = reviewer.get(f"{place}progress/", headers={"if-none-match": followed["ETag"]})
    assert again.status_code == 304
    assert place in page(reviewer.get("/calls/comparisons/"))


def test_invalid_fields_are_reported(reviewer: Client, acme: Account) -> None:
    form = {"calls": "100", "left-protected_turns": "0", "right-min_score": "2"}
    said = page(reviewer.post("/calls/comparisons/new/", form), 422)
    assert said.count("field-error") == 2
    assert not makers.rows(ContextComparison, acme)
