"""The list of memories: search, filters and columns."""

import re
from typing import Any
from urllib.parse import urlencode
from uuid import uuid4

import pytest
from django.conf import settings as django_settings
from django.db import connection
from django.http import QueryDict
from django.test import Client
from pytest_django import DjangoAssertNumQueries as MaxQueries
from pytest_django import Settings

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.search.models import Vector
from kmapp.web import bounded_counts
from kmapp.web.filters import MAX_QUERY_LENGTH
from memory.models import MemoryEntry
from memory.retrieval.entry_list import COLUMNS, DEFAULT_COLUMNS, Listing
from memory.retrieval.entry_list_filters import EntryFilter
from memory.views.entry_list import UNLISTED_COLUMNS
from tests import makers
from tests.makers import missing
from tests.web.pages import HTMX, html
from tests.web.test_entries import remember


def listed(client: Client, **query: Any) -> str:
    return html(client.get("/memory/", query, headers=HTMX))


def test_search_by_words_in_both_languages(
    reviewer: Client, acme: Account, settings: Settings
) -> None:
    remember(acme, "Lin likes oolong tea.", "林喜欢乌龙茶。", "Ben plays chess.")
    assert "oolong" in listed(reviewer, q="oolong")
    assert "Ben" not in listed(reviewer, q="oolong")
    assert "林喜欢" in listed(reviewer, q="乌龙茶")
    settings.EMBEDDING_BASE_URL = "http://127.0.0.1:9/v1"  # nothing answers
    assert missing(listed(reviewer, q="tea"), "oolong tea", "by keywords only") == []


def test_search_by_meaning(reviewer: Client, acme: Account) -> None:
    remember(acme, "The dog barked all night and nobody slept.", "Invoices are due on Friday.")
    makers.settle()
    text = listed(reviewer, q="a noisy puppy kept everyone awake")
    assert missing(text, "dog barked", "by keywords and meaning") == []


def test_search_covers_every_user_and_status(reviewer: Client, acme: Account) -> None:
    [one] = remember(acme, "Ada keeps bees.", user_id="ada", client_id="bees-1")
    [two] = remember(acme, "Ben keeps bees.", user_id="ben", run_id="r", visibility="conversation")
    makers.update(MemoryEntry, acme, {"pk": two.pk}, status="forgotten")
    text = listed(reviewer, q="bees")
    assert missing(text, "Ada", "Ben") == []
    assert "Ada" not in listed(reviewer, q="bees", status="forgotten")
    for name in (str(one.pk), "bees-1"):
        text = listed(reviewer, q=name)
        assert "Ada" in text
        assert "Ben" not in text


def test_list_does_not_load_metadata(reviewer: Client, acme: Account) -> None:
    remember(acme, "Lin likes oolong tea.", metadata={"notes": "x" * 100_000})
    [row] = reviewer.get("/memory/").context["page"].object_list
    assert set(UNLISTED_COLUMNS) == row.get_deferred_fields()


def test_list_is_filtered(reviewer: Client, acme: Account) -> None:
    [fact] = remember(acme, "A fact.", kind="fact", tags=["red"], agent_id="bot")
    remember(acme, "An event.", kind="event", user_id="u2", run_id="r2")
    with acting(acme):
        MemoryEntry.objects.filter(pk=fact.pk).update(
            pinned=True, tier="cold", observed_at="2026-01-02T09:00Z"
        )
        Vector.objects.filter(object_id=fact.pk).update(state="FAILED")
    for query, fact_is_shown in [
        ({"kind": "fact"}, True),
        ({"kind": "event"}, False),
        ({"user_id": "u2"}, False),
        ({"agent_id": "bot"}, True),
        ({"run_id": "r2"}, False),
        ({"tag": "red"}, True),
        ({"tier": "cold"}, True),
        ({"pinned": "true"}, True),
        ({"embedding": "FAILED"}, True),
        ({"embedding": "PENDING"}, False),
        ({"since": "2026-01-02", "until": "2026-01-02"}, True),
        ({"since": "2026-01-03"}, False),
    ]:
        text = listed(reviewer, **query)
        assert ("A fact." in text, "An event." in text) == (fact_is_shown, not fact_is_shown), query
    assert "Nothing matches" in listed(reviewer, embedding="READY")


def test_fragment_and_page_differ(reviewer: Client, acme: Account) -> None:
    remember(acme, "A fact.", agent_id="bot-7", run_id="run-7")
    part = reviewer.get("/memory/", headers=HTMX)
    assert "<html" not in html(part)
    assert "A fact." in html(part)
    assert "HX-Request" in part.headers["Vary"]
    back = {"HX-Request": "true", "HX-History-Restore-Request": "true"}
    assert "<html" in html(reviewer.get("/memory/", headers=back))

    assert "run-7" not in html(part)
    text = listed(reviewer, column=["run", "importance"])
    assert missing(text, "run-7", ">Importance<") == []
    assert ">Status<" not in text
    text = listed(reviewer, kind="odd", colour="<b>")
    assert missing(text, "not recognized", "colour", "A fact.") == []


def test_unknown_filters_are_named(acme: Account) -> None:
    cases: tuple[tuple[str, list[str], str], ...] = (
        ("", [], ""),
        ("kind=fact&page=3&view=x", [], "kind=fact"),
        ("kind=odd&usr=ada&sort=-content", ["kind", "sort", "usr"], ""),
        ("since=yesterday&q=+tea+", ["since"], "q=tea"),
        ("column=odd&column=run", ["column"], "column=run"),
        ("user_id=+&tag=+x", [], "tag=+x"),
        ("q=a%00b&sort=created_at&user_id=u", [], "user_id=u&q=ab&sort=created_at"),
    )
    for text, left_out, query in cases:
        listing = Listing.from_params(acme.pk, QueryDict(text))
        assert (listing.ignored_parameters, listing.query) == (left_out, query)
        again = Listing.from_params(acme.pk, QueryDict(listing.query))
        assert (again.ignored_parameters, again.query) == ([], query)
        assert "column" in text or again.columns == DEFAULT_COLUMNS


def test_any_search_text_is_accepted(reviewer: Client) -> None:
    for word in ("\x00", "x" * 5000, "%", "' OR 1=1", "🙂", "\ufffd", "a:b&c|d!"):
        query = {"q": word, "tag": word, "user_id": word}
        assert reviewer.get("/memory/", query).status_code == 200, word[:9]


def test_longest_chinese_query_fits_in_the_request_line(reviewer: Client) -> None:
    for path in ("/memory/", "/knowledge/"):
        assert f'maxlength="{MAX_QUERY_LENGTH}"' in html(reviewer.get(path)), path
    configuration = (django_settings.BASE_DIR / "kmapp/runtime/gunicorn_config.py").read_text()
    [longest] = re.findall(r"^limit_request_line = (\d+)", configuration, re.MULTILINE)
    params: dict[str, Any] = {
        **dict.fromkeys(EntryFilter.base_filters, "x" * 20),
        "view": uuid4(),
        "sort": "-access_count",
        "column": list(COLUMNS),
        "q": "茶" * MAX_QUERY_LENGTH,
    }
    query = urlencode(params, doseq=True)
    assert len(f"GET /memory/?{query} HTTP/1.1") <= int(longest)


def test_second_page_and_query_count(
    reviewer: Client, acme: Account, max_queries: MaxQueries
) -> None:
    remember(acme, *(f"Tea number {n}." for n in range(60)))
    text = listed(reviewer, page="2", sort="created_at")
    assert missing(text, "51 to 60 of 60", "Tea number 59.") == []
    assert "Tea number 9." not in text
    for query, most in (("", 14), ("?status=active&embedding=READY&tag=x", 14), ("?q=tea", 24)):
        reviewer.get(f"/memory/{query}")  # fills the caches that expire after a minute
        with max_queries(most):
            assert reviewer.get(f"/memory/{query}").status_code == 200, query


def test_long_list_is_counted_and_shown_up_to_a_limit(
    reviewer: Client, acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries = remember(acme, *(f"Tea number {n}." for n in range(6)))
    text = listed(reviewer)
    assert missing(text, "6 memories", "1 to 6 of 6") == []
    monkeypatch.setattr(bounded_counts, "MAX_FIGURE", 4)
    text = listed(reviewer)
    assert missing(text, "3+ memories", "1 to 3 of 3+", "Tea number 5.") == []
    assert "Tea number 2." not in text
    assert "Only the newest" not in text
    for entry, count in ((entries[0], 9), (entries[3], 5)):
        makers.update(MemoryEntry, acme, {"pk": entry.pk}, access_count=count)
    text = listed(reviewer, sort="-access_count")
    assert missing(text, "Only the newest 4 memories are in this order.", "3+ memories") == []
    assert "Tea number 0." not in text
    assert text.index("Tea number 3.") < text.index("Tea number 5.")
    listing = Listing.from_params(acme.pk, QueryDict("sort=-access_count"))
    with acting(acme):
        assert [*listing.ids()][:2] == [entries[0].pk, entries[3].pk]  # the order of exports


@pytest.mark.parametrize(
    ("sort", "index"),
    [
        ("-created_at", "entries_newest_first"),
        ("created_at", "entries_newest_first"),
        ("-updated_at", "entries_last_updated"),
        ("-observed_at", "entries_last_observed"),
        ("-importance", "entries_most_important"),
        ("-access_count", "entries_newest_first"),
    ],
)
def test_no_order_reads_the_whole_table(acme: Account, sort: str, index: str) -> None:
    ids = Listing.from_params(acme.pk, QueryDict(f"sort={sort}")).page_ids()
    with acting(acme), connection.cursor() as cursor:
        for costly in ("seqscan", "bitmapscan", "incremental_sort", "sort"):
            cursor.execute(f"SET LOCAL enable_{costly} = off")  # over so few rows any plan is cheap
        plan = ids[:50].explain()
    assert f" using {index} " in plan
    assert "Seq Scan" not in plan


def test_result_limit(reviewer: Client, acme: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("memory.retrieval.entry_list_search", "memory.views.entry_list"):
        monkeypatch.setattr(f"{module}.MAX_RESULTS", 5)
    monkeypatch.setattr("memory.retrieval.entry_list_search.MAX_PER_LIST", 3)
    remember(acme, *(f"Tea number {n}." for n in range(9)))
    text = listed(reviewer, q="tea")
    assert missing(text, "Only the top 5 results are shown.", "1 to 5 of 5") == []
