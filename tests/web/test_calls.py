"""The pages of calls: found, and looked into as long as what they were made of is kept."""

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries as MaxQueries

from context.models import ContextCostReport, ContextInput
from context.models.archives import ArchiveScope
from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from tests import makers
from tests.context.calling import call, fill_calls, talk
from tests.web.pages import html

pytestmark = pytest.mark.usefixtures("tokenizer")


def test_empty_list_shows_the_first_command(reviewer: Client) -> None:
    assert "/v1/context/assemble" in html(reviewer.get("/calls/"))


def test_list_is_filtered(reviewer: Client, acme: Account) -> None:
    call(acme, talk(1), agent_id="shop", model="small")
    call(acme, talk(1), agent_id="desk", model="large")
    for query, shown, hidden in (
        ({}, "shop", "nothing"),
        ({"agent_id": "desk"}, "desk", "shop"),
        ({"model": "small"}, "shop", "desk"),
    ):
        said = html(reviewer.get("/calls/", query))
        assert f">{shown}<" in said
        assert f"<bdi hx-disable>{hidden}<" not in said
    with acting(acme):
        ContextCostReport.objects.of(acme).filter(agent_id="desk").update(cost="0.0125")
    said = html(reviewer.get("/calls/", {"cost": "0.012"}))
    assert ">desk<" in said
    assert ">shop<" not in said, "of which nobody knows the cost"
    for nothing in (
        {"action": "auto_compact"},
        {"variant": "v2"},
        {"total": "900000"},
        {"cost": "0.013"},
    ):
        assert "Nothing matches" in html(reviewer.get("/calls/", nothing))


def test_call_page_shows_decisions(reviewer: Client, acme: Account) -> None:
    fill_calls(acme, 1)
    row = makers.get(ContextCostReport, acme)
    said = html(reviewer.get(f"/calls/{row.pk}/"))
    assert "Older turns summarized" in said
    assert "Summary of 5 earlier turns" in said
    assert "Stable prefix" in said
    assert "And the kiln0 now?" in said
    with acting(acme):
        ContextInput.objects.of(acme).delete()
    said = html(reviewer.get(f"/calls/{row.pk}/"))
    assert "no longer stored" in said
    assert "And the kiln0 now?" not in said


def test_retrieved_text_is_shown(reviewer: Client, acme: Account) -> None:
    [entry] = makers.write(acme, "The kiln is <b>by</b> the pond.", user_id="u")
    made = call(acme, talk(1), sources=("memory",), within=ArchiveScope(user_id="u"))
    said = html(reviewer.get(f"/calls/{made.report_id}/"))
    assert f"/memory/{entry.pk}/" in said
    assert "The kiln is &lt;b&gt;by&lt;/b&gt; the pond." in said


def test_call_is_compared_with_the_previous_one(reviewer: Client, acme: Account) -> None:
    first, second = call(acme, talk(1)), call(acme, talk(2))
    said = html(reviewer.get(f"/calls/{second.report_id}/"))
    assert f"?with={first.report_id}" in said
    said = html(reviewer.get(f"/calls/{second.report_id}/", {"with": str(first.report_id)}))
    assert "same stable prefix" in said
    assert reviewer.get(f"/calls/{second.report_id}/", {"with": "x"}).status_code == 404


def test_query_count(reviewer: Client, acme: Account, max_queries: MaxQueries) -> None:
    made = [call(acme, talk(3)) for _ in range(12)]
    reviewer.get("/calls/")
    with max_queries(16):
        assert reviewer.get("/calls/").status_code == 200
    with max_queries(20):
        assert reviewer.get(f"/calls/{made[-1].report_id}/").status_code == 200
