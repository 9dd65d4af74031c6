"""Pages of calls, costs, comparisons and call settings."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries as MaxQueries

from context.actions.record_call import record_outcome
from context.models import ContextComparison, ContextCostReport, ContextInput, ContextSettings
from context.models.archives import ArchiveScope
from context.views.setting_forms import PricesForm
from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account, User
from kmapp.ledger.models import Commit
from tests import makers
from tests.context.builders import call, configure, fill_calls, set_prices, talk, tool
from tests.knowledge.builders import deliver
from tests.makers import missing, settle
from tests.web.pages import html, page, read_confirmation

pytestmark = pytest.mark.usefixtures("tokenizer")


def test_pages_without_calls(reviewer: Client, acme: Account) -> None:
    assert "/v1/context/assemble" in html(reviewer.get("/calls/"))
    assert "No comparisons yet" in page(reviewer.get("/calls/comparisons/"))
    form = {"calls": "100", "left-protected_turns": "0", "right-min_score": "2"}
    assert page(reviewer.post("/calls/comparisons/new/", form), 422).count("field-error") == 2
    assert not makers.rows(ContextComparison, acme)
    assert "No calls in this period" in page(reviewer.get("/calls/costs/"))
    assert "field-error" in page(reviewer.get("/calls/costs/", {"days": "13"}))
    for language, text in (("en", "30 days"), ("zh-hans", "30 天")):
        reviewer.cookies["django_language"] = language
        assert text in page(reviewer.get("/calls/costs/"))


def test_list_is_filtered(reviewer: Client, acme: Account) -> None:
    call(acme, talk(1), agent_id="shop", model="small")
    call(acme, talk(1), agent_id="desk", model="large")
    for query, displayed, hidden in (
        ({}, "shop", "nothing"),
        ({"agent_id": "desk"}, "desk", "shop"),
        ({"model": "small"}, "shop", "desk"),
    ):
        text = html(reviewer.get("/calls/", query))
        assert f">{displayed}<" in text
        assert f"<bdi hx-disable>{hidden}<" not in text
    makers.update(ContextCostReport, acme, {"agent_id": "desk"}, cost="0.0125")
    text = html(reviewer.get("/calls/", {"cost": "0.012"}))
    assert ">desk<" in text
    assert ">shop<" not in text, "of which nobody knows the cost"
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
    text = html(reviewer.get(f"/calls/{row.pk}/"))
    assert "Older turns summarized" in text
    assert missing(text, "Summary of 5 earlier turns", "Stable prefix", "And the kiln0 now?") == []
    with acting(acme):
        ContextInput.objects.of(acme).delete()
    text = html(reviewer.get(f"/calls/{row.pk}/"))
    assert "no longer stored" in text
    assert "And the kiln0 now?" not in text


def test_excerpt_of_a_document_is_shown_with_its_tokens(reviewer: Client, acme: Account) -> None:
    rest = " ".join(f"Shelf {number} holds old rope and dust." for number in range(60))
    deliver(acme, {"kiln.md": f"# Kiln\n\n{rest} The kiln reaches 1,280 degrees. {rest}"})
    message = {"role": "user", "content": "How hot is the kiln?"}
    report = call(acme, [message], sources=("knowledge",), policy={"snippet_tokens": 300})
    text = html(reviewer.get(f"/calls/{report.report_id}/"))
    assert "sent as an excerpt" in text
    assert "Shelf 3 holds" in text
    assert "Shelf 40 holds" not in text, "a sentence that was not sent"


def test_call_is_compared_with_the_previous_one(reviewer: Client, acme: Account) -> None:
    first, second = call(acme, talk(1)), call(acme, talk(2))
    text = html(reviewer.get(f"/calls/{second.report_id}/"))
    assert f"?with={first.report_id}" in text
    text = html(reviewer.get(f"/calls/{second.report_id}/", {"with": str(first.report_id)}))
    assert "same stable prefix" in text
    assert reviewer.get(f"/calls/{second.report_id}/", {"with": "x"}).status_code == 404


def test_query_count(reviewer: Client, acme: Account, max_queries: MaxQueries) -> None:
    new = [call(acme, talk(3)) for _ in range(12)]
    reviewer.get("/calls/")
    with max_queries(16):
        assert reviewer.get("/calls/").status_code == 200
    with max_queries(20):
        assert reviewer.get(f"/calls/{new[-1].report_id}/").status_code == 200


def test_comparison_is_started_followed_and_shown(reviewer: Client, acme: Account) -> None:
    [entry] = makers.write(acme, "The kiln is <b>by</b> the pond.", user_id="u")
    more: Any = {"sources": ("memory",), "within": ArchiveScope(user_id="u")}
    _first, new = (call(acme, talk(1), **more) for _ in range(2))
    retrieved = (f"/memory/{entry.pk}/", "The kiln is &lt;b&gt;by&lt;/b&gt; the pond.")
    assert missing(html(reviewer.get(f"/calls/{new.report_id}/")), *retrieved) == []
    form = {"calls": "100", "right-snippet_tokens": "0", "right-most_snippet_tokens": "0"}
    answer = reviewer.post("/calls/comparisons/new/", form)
    assert answer.status_code == 302
    place = answer["Location"]
    text = page(reviewer.get(place))
    assert "data-poll" in text
    settle()
    text = page(reviewer.get(place))
    assert "data-poll" not in text
    assert missing(text, "Maximum tokens for retrieved texts: ", f"memory:{entry.pk}") == []
    assert "No calls match this filter." in page(reviewer.get(place, {"show": "no_longer_fitting"}))
    followed = reviewer.get(f"{place}progress/")
    assert "calls losing evidence" in page(followed)
    again = reviewer.get(f"{place}progress/", headers={"if-none-match": followed["ETag"]})
    assert again.status_code == 304
    assert place in page(reviewer.get("/calls/comparisons/"))


def test_every_breakdown_is_shown(reviewer: Client, acme: Account) -> None:
    set_prices(acme, small={"input": 2})
    call(acme, talk(1), agent_id="<shop>", model="small", tools=[tool("read_file")])
    for by, text in (
        ("section", "Conversation"),
        ("agent", "&lt;shop&gt;"),
        ("tool", "read_file"),
        ("model", "/calls/?model=small"),
        ("variant", "v1"),
    ):
        assert text in page(reviewer.get("/calls/costs/", {"by": by}))
    assert "Nothing matches" in page(reviewer.get("/calls/costs/", {"agent_id": "desk"}))


def test_links_to_calls_keep_the_period(reviewer: Client, acme: Account) -> None:
    call(acme, talk(1), agent_id="shop", model="small")
    since = (timezone.localdate() - timedelta(days=6)).isoformat()
    query = {"days": "7", "agent_id": "shop", "by": "model"}
    links = (
        f'href="/calls/?agent_id=shop&amp;since={since}"',
        f'href="/calls/?agent_id=shop&amp;model=small&amp;since={since}"',
        'href="/calls/variants/?days=7&amp;agent_id=shop"',
    )
    assert missing(page(reviewer.get("/calls/costs/", query)), *links) == []
    text = page(reviewer.get("/calls/variants/", {"days": "7"}))
    assert f'href="/calls/?variant=v1&amp;since={since}"' in text
    assert ">shop<" in page(reviewer.get("/calls/", {"since": since}))
    created_at = timezone.now() - timedelta(days=8)
    makers.update(ContextCostReport, acme, {}, created_at=created_at)
    assert "Nothing matches" in page(reviewer.get("/calls/", {"since": since}))


def test_savings_are_listed_and_agents_paginated(reviewer: Client, acme: Account) -> None:
    for number in range(52):
        more = {"agent_id": f"agent-{number}", "tools": [tool("dig")]}
        call(acme, talk(1), within=ArchiveScope(conversation_id=f"c{number}"), **more)
        if number == 19:
            text = page(reviewer.get("/calls/costs/"))
            assert "Offered in 20 calls but never called." in text
    text = page(reviewer.get("/calls/costs/", {"by": "agent"}))
    assert missing(text, "1 to 50 of 52", "all others") == []
    assert "51 to 52 of 52" in page(reviewer.get("/calls/costs/", {"by": "agent", "page": "2"}))


def stored(account: Account) -> ContextSettings:
    with acting(account):
        return ContextSettings.objects.get_or_default(account.pk)


def saved(admin: Client, section: str, version: int, **text: Any) -> Any:
    form = {"section": section, "version": str(version), "reason": "Because.", **text}
    return admin.post("/calls/settings/set/", form)


def test_every_section_can_be_saved(admin: Client, acme: Account) -> None:
    policy = {"protected_turns": "4", "prune": "none", "compact": "no", "min_score": "0.5"}
    assert saved(admin, "policy", 0, **policy).status_code == 302
    assert saved(admin, "inputs", 1, inputs_days="7").status_code == 302
    assert saved(admin, "prices", 2, prices="small 0.25 2 0.025\nlarge 3\n").status_code == 302
    assert saved(admin, "variants", 3, v1="60", v2="40").status_code == 302
    row = stored(acme)
    assert row.policy == {"protected_turns": 4, "prune": [], "compact": False, "min_score": 0.5}
    assert row.inputs_days == 7
    assert row.prices == {
        "small": {"input": 0.25, "output": 2, "cached": 0.025},
        "large": {"input": 3},
    }
    assert row.variants == {"v1": 60, "v2": 40}
    text = page(admin.get("/calls/settings/"))
    assert missing(text, "small 0.25 2 0.025", 'value="60"', 'value="4"', "Because.") == []
    for changed in ("v1 60 %, v2 40 %", "large 3; small 0.25 2 0.025", "Old tool results:"):
        assert changed in text
    assert makers.count(Commit, acme) >= 4
    assert saved(admin, "policy", 4).status_code == 302
    assert stored(acme).policy == {}


def test_retention_that_deletes_inputs_needs_confirmation(admin: Client, acme: Account) -> None:
    call(acme, talk(1))
    makers.update(ContextInput, acme, {}, created_at=timezone.now() - timedelta(days=10))
    text = page(saved(admin, "inputs", 0, inputs_days="7"))
    assert "Save and delete the inputs of 1 call" in text
    confirmed = read_confirmation(text)
    assert stored(acme).inputs_days is None
    assert saved(admin, "inputs", 0, inputs_days="7", **confirmed).status_code == 302
    assert stored(acme).inputs_days == 7
    assert saved(admin, "inputs", 1, inputs_days="5", **confirmed).status_code == 200
    assert saved(admin, "inputs", 1, inputs_days="20").status_code == 302, "it deletes nothing"


def test_names_are_separated_by_either_comma(admin: Client, acme: Account) -> None:
    assert saved(admin, "policy", 0, unprunable_tools="dig， read,write").status_code == 302
    assert stored(acme).policy == {"unprunable_tools": ["dig", "read", "write"]}
    assert 'value="dig,read,write"' in page(admin.get("/calls/settings/"))


def test_strategies_in_another_order_are_displayed_and_stored(admin: Client, acme: Account) -> None:
    reversed_order = {"prune": ["hard_clear", "soft_trim"]}
    configure(acme, policy=reversed_order)
    assert "hard_clear,soft_trim" in page(admin.get("/calls/settings/"))
    assert "hard_clear,soft_trim" in page(admin.get("/calls/comparisons/new/"))
    form = {"calls": "100", "right-compact": "no"}
    assert admin.post("/calls/comparisons/new/", form).status_code == 302
    makers.update(ContextComparison, acme, {}, right={"policy": reversed_order})
    assert "hard_clear,soft_trim" in page(admin.get("/calls/comparisons/"))
    assert saved(admin, "policy", 1, prune="hard_clear,soft_trim", head="9").status_code == 302
    assert stored(acme).policy == {**reversed_order, "head": 9}


def test_prices_keep_their_digits(admin: Client, acme: Account) -> None:
    prices = "large 24567.895 0.1\nsmall 234567.5"
    assert saved(admin, "prices", 0, prices=prices).status_code == 302
    assert prices in page(admin.get("/calls/settings/"))
    assert stored(acme).prices["small"] == {"input": 234567.5}


def test_cached_price_without_an_output_price_is_third(admin: Client, acme: Account) -> None:
    configure(acme, prices={"small": {"input": 2, "cached": 0.5}})
    assert "small 2 0 0.5" in page(admin.get("/calls/settings/"))


def test_names_of_models_may_contain_spaces(admin: Client, acme: Account) -> None:
    prices = 'small v2 0.25 2\n"large 3" 3 15 0.3\n7 1'
    assert saved(admin, "prices", 0, prices=prices).status_code == 302
    expected = {
        "7": {"input": 1},
        "large 3": {"input": 3, "output": 15, "cached": 0.3},
        "small v2": {"input": 0.25, "output": 2},
    }
    assert stored(acme).prices == expected
    text = PricesForm.values_of(stored(acme))["prices"]
    assert text == '7 1\n"large 3" 3 15 0.3\n"small v2" 0.25 2'
    assert saved(admin, "prices", 1, prices=f"{text}\n").status_code == 302
    assert stored(acme).prices == expected
    call(acme, talk(1), model="large 3")
    assert makers.get(ContextCostReport, acme).cost


def test_invalid_settings_are_rejected(admin: Client, acme: Account) -> None:
    for section, text in (
        ("policy", {"protected_turns": "0"}),
        ("inputs", {"inputs_days": "0"}),
        ("prices", {"prices": "small cheap"}),
        ("prices", {"prices": "small -1"}),
        ("prices", {"prices": '"large 3"'}),
        ("prices", {"prices": "large 1 2 3 4"}),
        ("variants", {"v1": "60"}),
    ):
        assert "field-error" in page(saved(admin, section, 0, **text), 422)
    assert saved(admin, "weather", 0).status_code == 400
    assert saved(admin, "inputs", 3, inputs_days="7").status_code == 409
    assert stored(acme).version == 0


def test_reviewer_cannot_change_settings(client: Client, alice: User) -> None:
    client.force_login(alice)
    assert "You can view these settings" in page(client.get("/calls/settings/"))
    assert saved(client, "inputs", 0, inputs_days="7").status_code == 403


def test_variants_are_compared(admin: Client, acme: Account) -> None:

    assert "Variants split and rank documents" in page(admin.get("/calls/variants/"))
    new = call(acme, talk(1))
    assert "No outcomes reported yet" in page(admin.get("/calls/variants/"))
    with acting(acme):
        record_outcome(acme.pk, new.report_id, {"success": True, "latency_ms": 1_234})
    assert missing(page(admin.get("/calls/variants/")), "1 of 1", "1,234") == []
    assert "Nothing matches" in page(admin.get("/calls/variants/", {"agent_id": "x"}))
