"""Sessions: the list by latest activity, and the timeline of one session."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from context.models import ContextCostReport
from context.models.archives import ArchiveScope
from context.reports import sessions
from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from memory.models.entry_input import NewEntry
from tests import makers
from tests.context.builders import call

pytestmark = pytest.mark.django_db
LIST = reverse("context:sessions")
PAGE = reverse("context:session")
NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)


def say(account: Account, run_id: str, *texts: str, **values: Any) -> None:
    entries = [
        NewEntry(
            text=text,
            run_id=run_id,
            user_id="mira",
            kind="event",
            metadata={"speaker": "Mira"},
            observed_at=NOON + timedelta(minutes=n),
            **values,
        )
        for n, text in enumerate(texts)
    ]
    makers.write(account, *entries)


@pytest.fixture
def tea(acme: Account) -> None:
    """Create a session with a message, a call, an archived tool result and a rule decision."""
    say(acme, "tea-1", "When does the tea room open?")
    call(
        acme,
        [{"role": "user", "content": "When does the tea room open?"}],
        within=ArchiveScope(conversation_id="tea-1", user_id="mira"),
    )
    agent = makers.agent(acme)
    agent.post(
        "tool-results",
        {"tool_name": "opening_hours", "result": "nine " * 3_000, "conversation_id": "tea-1"},
    )
    agent.post(
        "memory/tools/select",
        {"context": {"intent": "hours"}, "candidates": ["opening_hours"], "run_id": "tea-1"},
    )


@pytest.mark.usefixtures("tea")
def test_a_session_shows_rows_of_every_kind_in_order_of_time(
    reviewer: Client, acme: Account
) -> None:
    page = reviewer.get(PAGE, {"run": "tea-1"}).content.decode()
    places = [
        page.index(text) for text in ("Mira</", "Call with", "opening_hours", ">rule decision<")
    ]
    assert places[0] == min(places)
    assert makers.missing(page, "When does the tea room open?", "tool result") == []
    [report] = makers.rows(ContextCostReport, acme)
    page = reviewer.get(reverse("context:call", args=[report.pk])).content.decode()
    assert makers.missing(page, "/sessions/timeline/?run=tea-1", f"#{report.pk}") == []


def test_sessions_are_listed_by_latest_activity_with_their_totals(
    reviewer: Client, acme: Account, rival: Account
) -> None:
    say(acme, "early", "One.", "Two.")
    say(acme, "newest", "Three.")
    say(rival, "foreign", "Four.")
    page = reviewer.get(LIST).content.decode()
    assert page.index("newest") < page.index("early")
    assert "foreign" not in page
    for run in ("foreign", "", "nothing"):
        assert reviewer.get(PAGE, {"run": run}).status_code == 404, run
    assert "No session" in reviewer.get(LIST, {"q": "nowhere"}).content.decode()
    filtered = reviewer.get(LIST, {"q": "ear"}).content.decode()
    assert "early" in filtered
    assert "newest" not in filtered


def list_all_runs(account: Account) -> list[str]:
    """Return the runs of all pages of sessions, in their order."""
    seen, before = list[str](), None
    for _ in range(20):
        with acting(account):
            page = sessions.list_sessions(account.pk, before=before)
        seen += [one.run_id for one in page.sessions]
        before = page.before
        if before is None:
            break
    assert before is None
    return seen


def test_pages_of_the_list_have_each_session_once(
    acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "PAGE", 2)
    monkeypatch.setattr(sessions, "SCANNED", 3)
    for number in range(7):
        say(acme, f"run-{number}", "A.", "B.")
    say(acme, "run-2", "C.")
    seen = list_all_runs(acme)
    assert seen == ["run-2", "run-6", "run-5", "run-4", "run-3", "run-1", "run-0"]


@pytest.mark.parametrize("scanned", [2, 3])
def test_sessions_of_one_batch_are_listed(
    acme: Account, monkeypatch: pytest.MonkeyPatch, scanned: int
) -> None:
    monkeypatch.setattr(sessions, "SCANNED", scanned)
    for number in range(3):
        runs = [NewEntry(text="A.", run_id=f"{number}-{each}", user_id="mira") for each in range(2)]
        makers.write(acme, *runs)
    seen = list_all_runs(acme)
    assert len(seen) == len(set(seen)) == 6


def test_pages_of_a_session_have_each_item_once(
    reviewer: Client, acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "ITEMS", 3)
    same = [
        NewEntry(text=f"Text {n}.", run_id="r", user_id="mira", observed_at=NOON) for n in range(8)
    ]
    makers.write(acme, *same)
    seen, after = list[Any](), None
    while True:
        with acting(acme):
            page = sessions.load_timeline(acme.pk, "r", after=after)
        seen += [item.row.pk for item in page.items]
        after = page.after
        if after is None:
            break
    assert len(seen) == len(set(seen)) == 8


@pytest.mark.usefixtures("tea")
def test_a_session_takes_few_queries_however_many_items(
    reviewer: Client, acme: Account, max_queries: Any
) -> None:
    say(acme, "tea-1", *[f"Turn {n}." for n in range(60)])
    with max_queries(14):
        assert reviewer.get(PAGE, {"run": "tea-1"}).status_code == 200
    with max_queries(18):
        assert reviewer.get(LIST).status_code == 200


def test_bad_parameters_show_the_first_page(reviewer: Client) -> None:
    for query in ("before=x", "before=2026-99-99", "q=%00", "before=2026-01-01"):
        assert reviewer.get(f"{LIST}?{query}").status_code == 200, query
