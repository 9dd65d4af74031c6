"""Topic pages and actions."""

from typing import Any

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries as MaxQueries

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.search.models import Vector
from memory.actions.topic_growth import member_edges
from memory.models import MemoryEntry, TopicSuggestion
from tests import makers
from tests.fake_provider import FakeProvider
from tests.makers import missing, settle
from tests.memory.test_topic_actions import topic
from tests.web.pages import HTMX

pytestmark = pytest.mark.django_db


def page(client: Client, address: str, **query: Any) -> str:
    answer = client.get(address, query)
    assert answer.status_code == 200, answer.content
    return answer.content.decode()


def test_topics_are_listed_by_size(reviewer: Client, acme: Account) -> None:
    assert "No topics yet" in page(reviewer, "/topics/")
    topic(acme, "Oolong", 3)
    topic(acme, "Tea", 6, user_id="mira", visibility="user")
    displayed = page(reviewer, "/topics/")
    assert displayed.index("Tea") < displayed.index("Oolong")
    assert missing(displayed, "mira", "everyone") == []
    assert "No matching topics" in page(reviewer, "/topics/", state="draft")
    assert "Oolong" not in page(reviewer, "/topics/", q="tea")


def test_topics_of_agents_may_have_any_metadata(reviewer: Client, acme: Account) -> None:
    topic(acme, "Oolong", 3)
    for count in ("many", 2.5, True, 10**12, ["2"], "9" * 400):
        makers.write(acme, f"Tea and {count}", kind="topic", metadata={"member_count": count})
    displayed = page(reviewer, "/topics/")
    assert displayed.index("Oolong") < displayed.index("Tea and many")


def test_query_count(reviewer: Client, acme: Account, max_queries: MaxQueries) -> None:
    created = [topic(acme, f"Topic {n}", 3) for n in range(12)]
    with acting(acme):
        for other in created[1:]:
            TopicSuggestion.objects.create(
                account=acme, kind="merge", topic=other, other=created[0], score=0.4
            )
    with max_queries(13):
        page(reviewer, "/topics/")


def test_topic_page_shows_its_map(
    reviewer: Client, acme: Account, provider: FakeProvider, max_queries: MaxQueries
) -> None:
    tea, bike = topic(acme, "Tea", 4), topic(acme, "Bike", 4)
    address = f"/topics/{tea.pk}/"
    assert "cannot be drawn" in page(reviewer, f"{address}map/")
    settle()
    with max_queries(16):
        assert "Tea memory 3" in page(reviewer, address)
    with max_queries(18):
        displayed = page(reviewer, f"{address}map/")
    assert displayed.count('class="own"') == 5, "its memories, and the key"
    assert displayed.count('class="group-1"') == 5
    assert missing(displayed, f"/topics/{bike.pk}/", "Tea memory 3") == []


def test_topic_actions_and_undo(reviewer: Client, acme: Account) -> None:
    small, large = topic(acme, "Oolong", 3), topic(acme, "Tea", 6)
    renamed = reviewer.post(
        f"/topics/{small.pk}/rename/", {"name": "Wulong", "version": "1"}, follow=True
    )
    assert "Wulong" in renamed.content.decode()
    assert "Renamed." in renamed.content.decode()
    stale = reviewer.post(f"/topics/{small.pk}/merge/", {"into": str(large.pk), "version": "1"})
    assert stale.status_code == 409
    merged = reviewer.post(
        f"/topics/{small.pk}/merge/", {"into": str(large.pk), "version": "2"}, follow=True
    ).content.decode()
    assert "9 memories" in merged
    assert missing(merged, "Merged into this topic", f"/memory/{small.pk}/undo/?version=3") == []
    rita = makers.signed_in(makers.member(acme, "rita", role="reviewer"))
    assert rita.post(f"/memory/{small.pk}/undo/?version=3").status_code == 403
    parted = reviewer.post(f"/topics/{small.pk}/part/", {"version": "3"}, follow=True)
    assert "3 memories" in parted.content.decode()
    nowhere = reviewer.post(f"/topics/{small.pk}/merge/", {"version": "4"})
    assert nowhere.status_code == 400
    assert "Choose the topic" in nowhere.content.decode()


def test_suggestions_are_accepted_and_declined(reviewer: Client, acme: Account) -> None:
    small, large = topic(acme, "Oolong", 3), topic(acme, "Tea", 8)
    with acting(acme):
        ids = sorted(member_edges(acme.pk, large.pk).values_list("src_id", flat=True))
        split, join = (
            TopicSuggestion.objects.create(account=acme, score=0.4, **more)
            for more in (
                {"kind": "split", "topic": large, "members": [str(pk) for pk in ids[:3]]},
                {"kind": "merge", "topic": small, "other": large},
            )
        )
    assert "3 memories would move" in page(reviewer, "/topics/")
    text = reviewer.post(f"/topics/suggestions/{split.pk}/follow/", follow=True).content.decode()
    with acting(acme):
        topics = MemoryEntry.objects.of(acme).filter(kind="topic")
        new = topics.exclude(pk__in=[small.pk, large.pk]).get()
    undo = f"/topics/{new.pk}/merge/?into={large.pk}"
    assert undo in text
    back = reviewer.post(undo, headers=HTMX)
    assert back.headers["HX-Redirect"] == f"/topics/{large.pk}/"
    with acting(acme):
        assert member_edges(acme.pk, large.pk).count() == 8
    reviewer.post(f"/topics/suggestions/{join.pk}/decline/")
    assert reviewer.post(f"/topics/suggestions/{join.pk}/follow/").status_code == 404
    assert "Suggested" not in page(reviewer, "/topics/")


def test_undo_of_a_split_restores_the_members(reviewer: Client, acme: Account) -> None:
    whole = topic(acme, "Everything", 8)
    with acting(acme):
        ids = sorted(member_edges(acme.pk, whole.pk).values_list("src_id", flat=True))
        split = TopicSuggestion.objects.create(
            account=acme, score=0.4, kind="split", topic=whole, members=[str(pk) for pk in ids[:3]]
        )
    reviewer.post(f"/topics/suggestions/{split.pk}/follow/")
    assert count_members(acme, whole) == (5, 5)
    undo = f"/memory/{whole.pk}/undo/"
    assert reviewer.post(f"{undo}?version=1").status_code == 409
    assert count_members(acme, whole) == (5, 5)
    assert reviewer.post(f"{undo}?version=2").status_code == 302
    assert count_members(acme, whole) == (8, 8)
    assert reviewer.post(f"{undo}?version=3").status_code == 302, "undoing that splits it again"
    assert count_members(acme, whole) == (5, 5)


def count_members(account: Account, entry: MemoryEntry) -> tuple[int, int]:
    """Return the number of members, and the number that the topic states."""
    with acting(account):
        number = member_edges(account.pk, entry.pk).count()
    return number, makers.reload(entry).slots["member_count"]


def test_topic_needs_no_vector_and_its_memory_has_another_page(
    reviewer: Client, acme: Account
) -> None:
    tea = topic(acme, "Tea", 3)
    with acting(acme):
        fact = member_edges(acme.pk, tea.pk)[0].src_id
        Vector.objects.of(acme).filter(
            object_id__in=MemoryEntry.objects.of(acme).filter(kind="topic").values("pk")
        ).delete()
    assert reviewer.get(f"/topics/{fact}/").headers["Location"] == f"/memory/{fact}/"
    displayed = page(reviewer, "/memory/", kind="topic")
    assert "Keywords only" in displayed
    assert "Tea · Tea" not in displayed
    assert "Nothing matches" in page(reviewer, "/memory/", kind="topic", embedding="PENDING")
