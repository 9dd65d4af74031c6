"""Merging a proposal into what is known: chosen field by field, and parted again."""

import pytest
from django.test import Client

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account, User
from memory.models import MemoryEntry, MemoryVersion
from tests import makers
from tests.web.reviewing import HTMX, REVIEW, now, page, proposed, seen, url


@pytest.fixture
def desk(client: Client, alice: User) -> Client:
    client.force_login(alice)
    return client


@pytest.fixture
def pair(desk: Client, acme: Account) -> tuple[MemoryEntry, MemoryEntry]:
    """What is known, and a proposal that says much the same."""
    known, new = proposed(
        acme,
        "Maren Holt prefers e-mail to phone calls.",
        "Maren Holt would rather get an e-mail than a phone call.",
    )
    desk.post(url("approve", known), seen(known))
    desk.post(
        url("review_edit", new),
        seen(new, content=new.content, kind="preference", tags="mail", title="Contact"),
    )
    makers.settle()
    return now(known), now(new)


def form(known: MemoryEntry, new: MemoryEntry, **picks: str) -> dict[str, str]:
    versions = {"version": str(now(new).version), "known_version": str(now(known).version)}
    return {"with": str(known.pk), **versions, **picks}


def test_merge_and_undo(
    desk: Client, acme: Account, pair: tuple[MemoryEntry, MemoryEntry]
) -> None:
    known, new = pair
    assert "do-merge" in page(desk.get(f"/review/?at={new.pk}"))
    shown = page(desk.get(url("review_merge", new)))
    assert "Contact" in shown
    preview = desk.get(url("review_merge", new), {"preview": "1", "content": "known"}, headers=HTMX)
    assert "<ins>" not in page(preview)
    choice = form(known, new, content="known", title="new", kind="new", tags="both")
    answer = desk.post(url("review_merge", new), choice, follow=True)
    assert "Merged." in page(answer)
    one, other = now(known), now(new)
    assert (one.content, one.title, one.kind) == (known.content, "Contact", "preference")
    assert (one.tags, one.status, other.status) == (["mail"], "active", "superseded")
    assert one.commit_id == other.commit_id
    desk.post(f"{url('undo', new)}?version={other.version}", headers=REVIEW)
    for was in pair:
        back = now(was)
        assert (back.content, back.title, back.tags, back.status, back.sources) == (
            (was.content, was.title, was.tags, was.status, was.sources)
        )
    with acting(acme):
        events = MemoryVersion.objects.filter(entry=new).order_by("version")
        assert list(events.values_list("event", flat=True))[-2:] == ["MERGE", "UNDO"]


def test_merge_of_a_changed_entry_is_refused(
    desk: Client, pair: tuple[MemoryEntry, MemoryEntry]
) -> None:
    known, new = pair
    stale = form(known, new, content="known")
    desk.post(f"/memory/{known.pk}/pin/", {"version": str(known.version)})
    answer = desk.post(url("review_merge", new), stale)
    assert answer.status_code == 409
    assert "Nothing was merged" in page(answer)
    assert (now(new).status, now(known).content) == ("proposed", known.content)


def test_other_audiences_cannot_be_merged(
    desk: Client, acme: Account, pair: tuple[MemoryEntry, MemoryEntry]
) -> None:
    _, new = pair
    with acting(acme):
        MemoryEntry.objects.filter(pk=pair[0].pk).update(visibility="user", user_id="maren")
    assert desk.get(url("review_merge", new), {"with": str(pair[0].pk)}).status_code == 400
    assert desk.get(url("review_merge", new), {"with": str(new.pk)}).status_code == 400


def test_merge_needs_a_similar_own_entry(
    desk: Client, acme: Account, rival: Account
) -> None:
    [lonely] = proposed(acme, "Cats sleep a lot.")
    [secret] = proposed(rival, "Rival's cats sleep a lot.")
    assert desk.get(url("review_merge", lonely)).status_code == 409
    assert desk.get(url("review_merge", lonely), {"with": str(secret.pk)}).status_code == 404
    assert desk.get(url("review_merge", secret)).status_code == 404
