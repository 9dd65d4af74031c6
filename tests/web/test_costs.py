"""The page of costs: what was spent, by what, and what could be saved."""

import pytest
from django.test import Client

from context.models.archives import ArchiveScope
from kmapp.accounts.models import Account
from tests.context.calling import call, priced, talk, tool
from tests.web.pages import page

pytestmark = pytest.mark.usefixtures("tokenizer")


def test_empty_period(reviewer: Client, acme: Account) -> None:
    assert "No calls in this period" in page(reviewer.get("/calls/costs/"))
    call(acme, talk(1), agent_id="shop")
    assert "Nothing matches" in page(reviewer.get("/calls/costs/", {"agent_id": "desk"}))


def test_every_breakdown_is_shown(reviewer: Client, acme: Account) -> None:
    priced(acme, small={"input": 2})
    call(acme, talk(1), agent_id="<shop>", model="small", tools=[tool("read_file")])
    for by, said in (
        ("section", "Conversation"),
        ("agent", "&lt;shop&gt;"),
        ("tool", "read_file"),
        ("model", "/calls/?model=small"),
        ("variant", "v1"),
    ):
        assert said in page(reviewer.get("/calls/costs/", {"by": by}))


def test_agents_are_paginated(reviewer: Client, acme: Account) -> None:
    for number in range(52):
        call(acme, talk(1), agent_id=f"agent-{number}")
    said = page(reviewer.get("/calls/costs/", {"by": "agent"}))
    assert "1 to 50 of 52" in said
    assert "all others" in said
    assert "51 to 52 of 52" in page(reviewer.get("/calls/costs/", {"by": "agent", "page": "2"}))


def test_savings_are_listed(reviewer: Client, acme: Account) -> None:
    for number in range(20):
        call(acme, talk(1), within=ArchiveScope(conversation_id=f"c{number}"), tools=[tool("dig")])
    said = page(reviewer.get("/calls/costs/"))
    assert "Offered in 20 calls but never called." in said


def test_rejects_an_invalid_period(reviewer: Client) -> None:
    assert "field-error" in page(reviewer.get("/calls/costs/", {"days": "13"}))


def test_period_is_translated(reviewer: Client) -> None:
    for language, said in (("en", "30 days"), ("zh-hans", "30 天")):
        reviewer.cookies["django_language"] = language
        assert said in page(reviewer.get("/calls/costs/"))
