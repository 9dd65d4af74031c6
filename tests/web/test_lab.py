"""The recall lab."""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries as MaxQueries
from pytest_django import Settings

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account, User
from memory.actions.review import forget
from memory.models import MemoryEntry, MemoryRating, Viewer
from memory.models.entry_input import EdgeEnd, NewEdge, NewEntry
from memory.retrieval.lab import Endpoint, LabQuery, list_exclusion_reasons, run_trial
from memory.retrieval.prompt_block import build_prompt_block
from memory.retrieval.recall import RecallRequest, recall_memories
from memory.retrieval.score_breakdown import BAR_UNITS, build_bar
from memory.retrieval.search import Hit, SearchRequest, search_memories
from tests import makers
from tests.fake_provider import FakeProvider
from tests.makers import missing
from tests.web.pages import HTMX, html

pytestmark = pytest.mark.usefixtures("tokenizer")

NOW = datetime(2026, 5, 1, tzinfo=UTC)
DAY = timedelta(days=1)


def hit(*, score: float = 0.5, **content: Any) -> Hit:
    entry = MemoryEntry(content="Tea.", **{"status": "active", "visibility": "user", **content})
    return Hit(entry=entry, score=score, parts={}, ready=True)


@pytest.mark.parametrize(
    ("content", "visible", "why"),
    [
        ({}, True, ["beyond the limit"]),
        ({}, False, ["not visible"]),
        ({"status": "proposed"}, True, ["not approved"]),
        ({"status": "rejected"}, True, ["rejected"]),
        ({"status": "superseded"}, True, ["superseded"]),
        ({"status": "forgotten"}, False, ["not visible", "forgotten"]),
        ({"expires_at": NOW}, True, ["expired"]),
        ({"expires_at": NOW + DAY}, True, ["beyond the limit"]),
        ({"valid_from": NOW + DAY}, True, ["not valid yet"]),
        ({"valid_to": NOW - DAY}, True, ["no longer valid"]),
        ({"score": 0.1, "status": "proposed"}, True, ["not approved", "below the minimum score"]),
    ],
)
def test_reasons_for_near_misses(content: dict[str, Any], *, visible: bool, why: list[str]) -> None:
    hits = list_exclusion_reasons(
        hit(**content), SearchRequest(query="tea", min_score=0.2), is_visible=visible, now=NOW
    )
    assert [any(word in str(reason) for reason in hits) for word in why] == [True] * len(why)
    assert len(hits) == len(why)


@pytest.mark.parametrize(
    "parts",
    [
        {"dense": 0.3, "lexical": 0.2, "opening": 0.0},
        {"lexical": 0.4, "dense": 0.4, "repeats": -0.3},
        {"unheard_of": 0.125, "run": 0.5},
    ],
)
def test_bar_ends_at_the_sum(parts: dict[str, float]) -> None:
    pieces = build_bar(parts)
    assert {piece.name for piece in pieces} == {name for name, value in parts.items() if value}
    assert sum(piece.value for piece in pieces) == pytest.approx(sum(parts.values()), abs=1e-9)
    last = pieces[-1]
    end = last.x if last.value < 0 else last.x + last.width
    assert end == pytest.approx(BAR_UNITS * sum(parts.values()), abs=0.02)
    assert build_bar({}) == []


@pytest.fixture
def tea(
    acme: Account, rival: Account, provider: FakeProvider, settings: Settings
) -> dict[str, MemoryEntry]:
    """Create memories about tea, some of them hidden; return them by a short name."""
    settings.EMBEDDING_DEADLINE = 30  # enough on a busy machine
    makers.write(rival, "Rival tea is served at noon.", user_id="ada")
    new = {
        "noon": NewEntry(text="Tea is served at noon.", user_id="ada"),
        "green": NewEntry(text="Green tea is kept cold.", user_id="ada"),
        "far": NewEntry(text="Tea leaves go to the garden.", user_id="ada"),
        "lins": NewEntry(text="Tea is served at noon for Lin.", user_id="lin"),
        "gone": NewEntry(text="Tea is served at one.", user_id="ada"),
        "late": NewEntry(text="Tea is free.", user_id="ada", expires_at=NOW - DAY),
    }
    names = dict(zip(new, makers.write(acme, *new.values()), strict=True))
    with acting(acme):
        forget(makers.decision(names["gone"]))
    makers.settle()
    return names


def test_lab_matches_the_api(acme: Account, tea: dict[str, MemoryEntry]) -> None:
    query = SearchRequest(query="when is tea served", viewer=Viewer(user_id="ada"), limit=2)
    trial = run_trial(acme.pk, LabQuery(search=query, max_results=2))
    result = [(one.hit.entry.pk, one.hit.score) for one in trial.hits]
    assert result == [(each.entry.pk, each.score) for each in search_memories(acme.pk, query).hits]
    missed = {one.hit.entry.pk: [str(why) for why in one.reasons] for one in trial.missed}
    assert missed.keys() == {tea[name].pk for name in tea} - {pk for pk, _score in result}
    assert missed[tea["lins"].pk] == ["not visible to this user, agent or session"]
    assert missed[tea["gone"].pk] == ["forgotten"]
    assert missed[tea["late"].pk] == ["expired"]
    assert trial.tokens == sum(one.tokens for one in trial.hits) > 0
    for each in [one.hit for one in trial.hits] + [one.hit for one in trial.missed]:
        assert sum(each.parts.values()) == pytest.approx(each.score, abs=1e-6)
    words = SearchRequest(query="when is tea served", by_meaning=False)
    alone = run_trial(acme.pk, LabQuery(search=words))
    assert alone.hits == []
    assert alone.missed[0].hit.parts["dense"] == 0
    noon, far = (EdgeEnd(id=tea[name].pk) for name in ("noon", "far"))
    makers.write(acme, edges=[NewEdge(type="related_to", src=noon, dst=far, weight=1)])
    query = SearchRequest(query="when is tea served", viewer=Viewer(user_id="ada"))
    block = build_prompt_block(acme.pk, query, max_memories=2)
    trial = run_trial(acme.pk, LabQuery(search=query, endpoint=Endpoint.INJECT, max_results=2))
    assert trial.answer.block == block.text != ""
    assert trial.tokens == block.tokens
    assert [one.hit.entry.pk for one in trial.hits] == [hit.entry.pk for hit in block.hits]
    around = recall_memories(acme.pk, RecallRequest(search=replace(query, limit=1)))
    trial = run_trial(acme.pk, LabQuery(search=query, endpoint=Endpoint.RECALL, max_results=1))
    assert [one.hit.entry.pk for one in trial.hits] == [hit.entry.pk for hit in around.seeds]
    reached = {one.entry.pk: one.activation for one in trial.answer.reached}
    assert reached == {
        pk: pytest.approx(active)
        for pk, active in around.activation.items()
        if pk != around.seeds[0].entry.pk
    }
    assert tea["far"].pk in reached


def sums(text: str) -> Sequence[tuple[float, float]]:
    """Return each score of a page with the sum of its parts."""
    bars = [
        sum(float(value) for value in re.findall(r'data-value="([^"]+)"', svg))
        for svg in re.findall(r'<svg class="parts".*?</svg>', text, re.DOTALL)
    ]
    scores = [float(value) for value in re.findall(r'data-score="([^"]+)"', text)]
    return list(zip(scores, bars, strict=True))


def test_page_shows_results_their_scores_and_the_endpoint(
    reviewer: Client, tea: dict[str, MemoryEntry], max_queries: MaxQueries
) -> None:
    query = {"query": "when is tea served", "user_id": "ada"}
    text = html(reviewer.get("/lab/", query))
    assert len(sums(text)) == len(tea)
    assert all(score == pytest.approx(total, abs=1e-6) for score, total in sums(text))
    words = ("Near misses", "not visible to this user, agent or session", "tokens")
    assert missing(text, "3 memories returned", *words) == []
    assert "Rival" not in text
    then = timezone.localtime() - DAY
    before = html(reviewer.get("/lab/", {**query, "as_of": f"{then:%Y-%m-%dT%H:%M}"}))
    assert "No results" in before
    assert "as_of" in before.split("Same query through the API")[1]
    for endpoint in ("recall", "inject"):
        text = html(reviewer.get("/lab/", {**query, "door": endpoint}))
        assert "Tea is served at noon." in text
        assert ("Prompt block" in text) == (endpoint == "inject")
        assert f"/v1/memory/{endpoint}" in text
        answer = reviewer.get("/lab/", {**query, "door": endpoint, "meaning": "off"})
        assert answer.status_code == 400, endpoint

    both = {**query, "limit": "1", "compare": "on"}
    first = html(reviewer.get("/lab/", both))
    assert 'name="b-user_id" value="ada"' in first, "at first both ways are the same"
    # Six searches, three for each side: as agents search, beyond the limit, and for memories that
    # are not visible.
    with max_queries(100):
        other = html(reviewer.get("/lab/", {**both, "b-user_id": "lin", "b-limit": "3"}))
    assert "A · 1 memory returned" in other
    assert missing(other, "B · 1 memory returned", "<small>new</small>") == []


def test_page_shows_memories_that_recall_reaches(
    reviewer: Client, acme: Account, tea: dict[str, MemoryEntry]
) -> None:
    noon, far = (EdgeEnd(id=tea[name].pk) for name in ("noon", "far"))
    makers.write(acme, edges=[NewEdge(type="related_to", src=noon, dst=far, weight=1)])
    query = {"query": "when is tea served", "user_id": "ada", "door": "recall", "limit": "1"}
    text = html(reviewer.get("/lab/", query))
    assert "Tea leaves go to the garden." in text.split("Related memories")[1]


def test_injection_that_is_off_misses_no_memories(
    reviewer: Client, acme: Account, tea: dict[str, MemoryEntry]
) -> None:
    makers.set_policy(acme, {"memory_enabled": False})
    query = {"query": "when is tea served", "user_id": "ada", "door": "inject", "min_score": "0"}
    text = html(reviewer.get("/lab/", query))
    assert "turned off in the account" in text
    assert "Near misses" not in text
    assert "min_score" in text.split("Same query through the API")[1]


def test_rejects_invalid_queries(reviewer: Client) -> None:
    for invalid in (
        *({"limit": "0"}, {"limit": "9999"}, {"min_score": "2"}, {"min_score": "nan"}),
        {"kind": "x"},
    ):
        answer = reviewer.get("/lab/", {"query": "tea", **invalid})
        assert answer.status_code == 400, invalid


def test_query_text_is_escaped(reviewer: Client, provider: FakeProvider) -> None:
    text = html(reviewer.get("/lab/", {"query": "it's <b>tea</b>", "user_id": "<i>"}))
    assert "<b>tea</b>" not in text
    assert "it&#x27;\\&#x27;&#x27;s" in text, "a quote stays inside its string in a shell"
    assert "No results" in text


def test_result_is_rated_and_unrated(
    reviewer: Client, acme: Account, tea: dict[str, MemoryEntry], alice: User
) -> None:
    noon = tea["noon"]
    address = f"/memory/{noon.pk}/rate/"
    part = reviewer.post(address, {"outcome": "negative"}, headers=HTMX)
    assert 'value="neutral" aria-pressed="true"' in html(part)
    page = html(reviewer.get("/lab/", {"query": "tea at noon", "user_id": "ada"}))
    assert page.count('aria-pressed="true">') > html(reviewer.get("/lab/")).count(
        'aria-pressed="true">'
    )
    with acting(acme):
        rating = MemoryRating.objects.of(acme).get()
        assert (rating.outcome, rating.rater) == ("negative", f"user:{alice.pk}")
        assert MemoryEntry.objects.get(pk=noon.pk).salience < noon.salience
    back = reviewer.post(address, {"outcome": "neutral", "next": "/lab/?query=tea"})
    assert back.headers["Location"] == "/lab/?query=tea"
    assert makers.get(MemoryEntry, acme, pk=noon.pk).salience == pytest.approx(noon.salience)
    assert reviewer.post(address, {"outcome": "splendid"}).status_code == 400
    assert (
        reviewer.post(f"/memory/{tea['gone'].pk}/rate/", {"outcome": "negative"}).status_code == 409
    )


@pytest.mark.parametrize(("status", "affects_rank"), [("active", True), ("superseded", False)])
def test_rating_says_whether_it_affects_the_rank(
    reviewer: Client, acme: Account, status: str, *, affects_rank: bool
) -> None:
    [entry] = makers.write(acme, "Tea at noon.")
    with acting(acme):
        MemoryEntry.objects.filter(pk=entry.pk).update(status=status)
    address = f"/memory/{entry.pk}/rate/"
    answer = reviewer.post(address, {"outcome": "negative", "next": "/memory/"}, follow=True)
    assert "Rating saved." in html(answer)
    assert ("affects how this memory ranks" in html(answer)) is affects_rank
