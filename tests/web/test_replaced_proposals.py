"""Approval of a proposal that replaces a pending one: both the old texts are superseded."""

import pytest
from django.test import Client

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account
from memory.actions import bulk_review, review
from memory.actions.write_entries import propose_update
from memory.models import BulkRun, Finding, MemoryEntry
from memory.models.entry_input import EdgeEnd, NewEdge, NewEntry
from tests import makers
from tests.makers import missing, reload
from tests.web.pages import html, page
from tests.web.proposals import AGENT, REVIEW, entry_url, opened_id, propose, submit


@pytest.fixture
def chain(acme: Account) -> list[MemoryEntry]:
    """Return an active memory, its pending update, and a pending correction of the update."""
    [old] = makers.write(acme, "Refunds take five days.", visibility="account")
    with acting(acme):
        update = propose_update(makers.decision(old), {"content": "Refunds take 9 days."})
        correction = propose_update(makers.decision(update), {"content": "Refunds take 8 days."})
    return [old, update, correction]


def statuses(entries: list[MemoryEntry]) -> list[str]:
    return [reload(each).status for each in entries]


def test_replaced_proposal_leaves_the_queue(
    reviewer: Client, acme: Account, chain: list[MemoryEntry]
) -> None:
    old, update, correction = chain
    common = {"account": acme, "entry": correction, "details": {"said": True}}
    with acting(acme):
        Finding.objects.create(other=update, kind="update", **common)
        Finding.objects.create(other=old, kind="duplicate", **common)
    answer = reviewer.get(f"/review/?at={correction.pk}")
    assert answer.context["evidence"].replaces == chain[:2]
    assert missing(html(answer), "Memories it would replace", "Refunds take 9 days.") == []
    assert "Stated by the writer." not in html(answer), "each memory is listed once"
    submit(reviewer, "approve", correction)
    assert statuses(chain) == ["superseded", "superseded", "active"]
    assert f'id="waits-{update.pk}"' not in html(reviewer.get("/review/"))
    assert submit(reviewer, "approve", update, REVIEW).status_code == 409
    assert reviewer.post(f"{entry_url('undo', correction)}?version=2").status_code == 302
    assert statuses(chain) == ["active", "proposed", "proposed"]
    assert opened_id(reviewer.get(f"/review/?at={update.pk}")) == str(update.pk)


@pytest.mark.parametrize("place", range(3))
def test_undo_in_a_bulk_run_restores_the_chain(
    acme: Account, chain: list[MemoryEntry], place: int
) -> None:
    [other] = propose(acme, "Cats sleep a lot.")
    run(acme, [other, chain[-1]])
    assert statuses([*chain, other]) == ["superseded", "superseded", "active", "active"]
    with acting(acme):
        undone = review.undo(makers.decision(chain[place]))
    assert {each.pk for each in undone} == {each.pk for each in chain}
    assert statuses([*chain, other]) == ["active", "proposed", "proposed", "active"]


def test_bulk_run_skips_what_replaces_a_selected_proposal_indirectly(acme: Account) -> None:
    [first] = propose(acme, "Refunds take five days.")
    with acting(acme):
        second = propose_update(makers.decision(first), {"content": "Refunds take 9 days."})
        third = propose_update(makers.decision(second), {"content": "Refunds take 8 days."})
    run(acme, [first, third])
    assert statuses([first, second, third]) == ["active", "proposed", "proposed"]
    run(acme, [third])
    assert statuses([first, second, third]) == ["superseded", "superseded", "active"]


def run(account: Account, entries: list[MemoryEntry]) -> None:
    chosen = [(each.pk, reload(each).version) for each in entries]
    with acting(account):
        bulk_review.start_run(account.pk, SYSTEM, BulkRun.Operation.APPROVE, chosen, "")


def test_cycle_of_proposals_ends(acme: Account) -> None:
    one, other = makers.write(
        acme,
        NewEntry(text="Refunds take five days.", client_id="one"),
        NewEntry(text="Refunds take nine days.", client_id="other"),
        edges=[
            makers.edge("supersedes", "one", "other"),
            makers.edge("supersedes", "other", "one"),
        ],
        actor=AGENT,
    )
    with acting(acme):
        review.approve(makers.decision(one))
    assert statuses([one, other]) == ["active", "superseded"]


def test_visibility_of_what_is_replaced_is_displayed(reviewer: Client, acme: Account) -> None:
    [old] = makers.write(acme, "Refunds take five days.", visibility="account")
    makers.set_policy(acme, {"review_visibilities": ["user"]})
    [new] = makers.write(
        acme,
        NewEntry(text="Refunds of Mira take nine days.", client_id="new", user_id="mira"),
        edges=[
            NewEdge(
                type="supersedes", src=EdgeEnd(client_id="new"), dst=EdgeEnd(id=old.pk), weight=1.0
            )
        ],
        actor=AGENT,
    )
    assert new.status == "proposed"
    text = page(reviewer.get(f"/review/?at={new.pk}"))
    panel = text.partition("Memories it would replace")[2].partition("</dl>")[0]
    existing, _, proposed = panel.partition("Proposed")
    assert "everyone" in existing
    assert "mira" not in existing
    assert missing(proposed, "this user", "mira") == []


def test_equal_visibilities_are_not_compared(
    reviewer: Client, acme: Account, chain: list[MemoryEntry]
) -> None:
    text = page(reviewer.get(f"/review/?at={chain[1].pk}"))
    panel = text.partition("Memories it would replace")[2].partition("</section>")[0]
    assert "Refunds take five days." in panel
    assert "visible to" not in panel


def test_pages_display_the_first_memories_of_a_long_chain(
    reviewer: Client, acme: Account, chain: list[MemoryEntry], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory.review.replaced_memories.MAX_DISPLAYED", 1)
    answer = reviewer.get(f"/review/?at={chain[-1].pk}")
    assert answer.context["evidence"].replaces == chain[:1]
    assert "and 1 more" in html(answer)
    [other] = propose(acme, "Refunds take ten days.")
    with acting(acme):
        Finding.objects.create(account=acme, entry=chain[-1], other=other, kind="duplicate")
    text = page(reviewer.get(entry_url("review_merge", chain[-1]), {"with": str(other.pk)}))
    panel = text.partition("Memories it would replace")[2]
    assert missing(panel, "Refunds take five days.", "and 1 more") == []
    assert "Refunds take 9 days." not in panel
