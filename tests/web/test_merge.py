"""Merging a proposal into a memory, and undoing it."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from memory.actions.write_entries import propose_update
from memory.models import MemoryEntry, MemoryVersion
from memory.views.review_queue import decided_today
from tests import makers
from tests.makers import missing, reload
from tests.web.pages import HTMX, html, page
from tests.web.proposals import REVIEW, entry_url, propose, submit


@pytest.fixture
def pair(reviewer: Client, acme: Account) -> tuple[MemoryEntry, MemoryEntry]:
    """Return a memory and a similar proposal."""
    existing, new = propose(
        acme,
        "Maren Holt prefers e-mail to phone calls.",
        "Maren Holt would rather get an e-mail than a phone call.",
    )
    submit(reviewer, "approve", existing)
    submit(
        reviewer,
        "review_edit",
        new,
        content=new.content,
        kind="preference",
        tags="mail",
        title="Contact",
    )
    makers.settle()
    return reload(existing), reload(new)


def form(existing: MemoryEntry, new: MemoryEntry, **picks: str) -> dict[str, str]:
    versions = {"version": str(reload(new).version), "known_version": str(reload(existing).version)}
    return {"with": str(existing.pk), **versions, **picks}


def test_merge_shows_labels_of_stored_values(
    reviewer: Client, pair: tuple[MemoryEntry, MemoryEntry]
) -> None:
    chinese = {"accept-language": "zh-hans"}
    text = page(reviewer.get(entry_url("review_merge", pair[1]), headers=chinese))
    assert missing(text, ">事实</bdi>", ">偏好</bdi></span>", ">偏好</bdi></dd>") == []
    assert ">preference</bdi>" not in text


def test_merge_is_undone_and_refused_if_stale_or_of_another_audience(
    reviewer: Client, acme: Account, pair: tuple[MemoryEntry, MemoryEntry]
) -> None:
    existing, new = pair
    assert "do-merge" in html(reviewer.get(f"/review/?at={new.pk}"))
    offered = html(reviewer.get(entry_url("review_merge", new)))
    assert missing(offered, "Contact", ">Content</th>", "<dt>Title</dt>", "<dt>Kind</dt>") == []
    preview = reviewer.get(
        entry_url("review_merge", new),
        {"preview": "1", "content": "known"},
        headers={**HTMX, "accept-language": "zh-hans"},
    )
    assert "<ins>" not in html(preview)
    assert "<dt>标题</dt>" in html(preview)
    choice = form(existing, new, content="known", title="new", kind="new", tags="both")
    makers.update(MemoryVersion, acme, {}, created_at=timezone.now() - timedelta(days=2))
    assert "Merged." in html(reviewer.post(entry_url("review_merge", new), choice, follow=True))
    with acting(acme):
        assert decided_today(acme.pk) == 1, "not the memory that it was merged into"
    one, other = reload(existing), reload(new)
    assert (one.content, one.title, one.kind) == (existing.content, "Contact", "preference")
    assert (one.tags, one.status, other.status) == (["mail"], "active", "superseded")
    assert one.commit_id == other.commit_id
    reviewer.post(f"{entry_url('undo', new)}?version={other.version}", headers=REVIEW)
    for was in pair:
        back = reload(was)
        assert (back.content, back.title, back.tags, back.status, back.sources) == (
            (was.content, was.title, was.tags, was.status, was.sources)
        )
    with acting(acme):
        events = MemoryVersion.objects.filter(entry=new).order_by("version")
        assert list(events.values_list("event", flat=True))[-2:] == ["MERGE", "UNDO"]

    stale = form(existing, new, content="known", reason="The same.")
    address = f"{entry_url('review_merge', new)}?need=new&page=2"
    reviewer.post(f"/memory/{existing.pk}/pin/", {"version": stale["known_version"]})
    cancel = f'href="/review/?at={new.pk}&amp;need=new&amp;page=2"'
    text = page(reviewer.post(address, stale), 409)
    assert missing(text, "Nothing was merged", 'value="The same."', cancel) == []
    assert (reload(new).status, reload(existing).content) == ("proposed", existing.content)

    makers.update(MemoryEntry, acme, {"pk": existing.pk}, visibility="user", user_id="maren")
    assert "do-merge" not in html(reviewer.get(f"/review/?at={new.pk}"))
    for other_audience_or_itself in (existing, new):
        query = {"with": str(other_audience_or_itself.pk)}
        assert reviewer.get(entry_url("review_merge", new), query).status_code == 400


def test_merge_into_an_expired_memory_is_not_offered(
    reviewer: Client, acme: Account, pair: tuple[MemoryEntry, MemoryEntry]
) -> None:
    existing, new = pair
    here = f"/review/?at={new.pk}"
    assert "do-merge" in html(reviewer.get(here))
    makers.update(MemoryEntry, acme, {"pk": existing.pk}, expires_at=timezone.now())
    text = html(reviewer.get(here))
    assert "do-merge" not in text
    assert "No similar memories" in text


def test_merge_into_a_correction_supersedes_what_it_replaces(
    reviewer: Client, acme: Account
) -> None:
    old, new = propose(acme, "Refunds take five days.", "Refunds take nine days.")
    submit(reviewer, "approve", old)
    submit(reviewer, "review_pin", old, pinned="yes")
    with acting(acme):
        correction = propose_update(makers.decision(old), {"content": "Refunds take 9 days."})
    rows = (old, new, correction)
    merged = reviewer.post(entry_url("review_merge", new), form(correction, new))
    assert merged.status_code == 302
    assert [reload(row).status for row in rows] == ["superseded", "superseded", "active"]
    assert reload(correction).pinned
    reviewer.post(f"{entry_url('undo', new)}?version=2", headers=REVIEW)
    assert [reload(row).status for row in rows] == ["active", "proposed", "proposed"]


def test_merge_supersedes_what_the_merged_proposal_replaces(
    reviewer: Client, acme: Account
) -> None:
    old, other = propose(acme, "Refunds take five days.", "Refunds take nine days.")
    for each in (old, other):
        submit(reviewer, "approve", each)
    submit(reviewer, "review_pin", old, pinned="yes")
    with acting(acme):
        update = propose_update(makers.decision(old), {"content": "Refunds take 9 days."})
    address = entry_url("review_merge", update)
    text = page(reviewer.get(address, {"with": str(other.pk)}))
    assert missing(text, "Memories it would replace", "Refunds take five days.") == []
    assert reviewer.post(address, form(other, update)).status_code == 302
    rows = (old, other, update)
    assert [reload(row).status for row in rows] == ["superseded", "active", "superseded"]
    assert reload(other).pinned
    reviewer.post(f"{entry_url('undo', update)}?version=2", headers=REVIEW)
    assert [reload(row).status for row in rows] == ["active", "active", "proposed"]
    assert [reload(row).pinned for row in rows] == [True, False, False]


def test_merge_into_the_replaced_memory_keeps_it_active(reviewer: Client, acme: Account) -> None:
    [old] = propose(acme, "Refunds take five days.")
    submit(reviewer, "approve", old)
    with acting(acme):
        update = propose_update(makers.decision(old), {"content": "Refunds take 9 days."})
    address = entry_url("review_merge", update)
    assert "Memories it would replace" not in page(reviewer.get(address, {"with": str(old.pk)}))
    assert reviewer.post(address, form(old, update)).status_code == 302
    assert (reload(old).status, reload(old).content) == ("active", "Refunds take 9 days.")


def test_merge_into_a_proposal_that_someone_reviews_is_refused(
    reviewer: Client, acme: Account
) -> None:
    new, other = propose(acme, "Refunds take nine days.", "Refunds take 9 days.")
    bob = makers.signed_in(makers.member(acme, "bob", role="editor"))
    bob.get(f"/review/?at={other.pk}")
    text = page(reviewer.post(entry_url("review_merge", new), form(other, new)), 409)
    assert "Nothing was merged" in text
    assert [reload(row).status for row in (new, other)] == ["proposed", "proposed"]


def test_reviewers_merge_into_similar_entries_only(
    reviewer: Client, acme: Account, pair: tuple[MemoryEntry, MemoryEntry]
) -> None:
    existing, new = pair
    [unrelated] = propose(acme, "Cats sleep a lot.")
    submit(reviewer, "approve", unrelated)
    rita = makers.signed_in(makers.member(acme, "rita", role="reviewer"))
    address = entry_url("review_merge", new)
    assert page(rita.get(address, {"with": str(existing.pk)}))
    refused = page(rita.post(address, form(unrelated, new)), 409)
    assert "There is no memory to merge it with." in refused
    assert reload(unrelated).content == "Cats sleep a lot."
    assert reviewer.get(address, {"with": str(unrelated.pk)}).status_code == 200


def test_merge_needs_a_similar_own_entry(reviewer: Client, acme: Account, rival: Account) -> None:
    [lonely] = propose(acme, "Cats sleep a lot.")
    [secret] = propose(rival, "Rival's cats sleep a lot.")
    assert reviewer.get(entry_url("review_merge", lonely)).status_code == 409
    assert (
        reviewer.get(entry_url("review_merge", lonely), {"with": str(secret.pk)}).status_code == 404
    )
    assert reviewer.get(entry_url("review_merge", secret)).status_code == 404
