"""Forgetting many memories: counted first, complete and undoable."""

from typing import Any

import pytest
from django.test import Client

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.ledger.models import Commit
from memory.actions import review
from memory.models import BulkRun, MemoryEntry
from tests import makers
from tests.agent import Agent
from tests.race import run_concurrently


@pytest.fixture
def member(acme: Account) -> Agent:
    """An agent without admin scope."""
    return makers.agent(acme, ("memory:read", "memory:write"))


def store(agent: Agent, text: str, **owner: Any) -> str:
    return str(agent.post("memory/store", {"text": text, **owner}, 201)["id"])


def forget(agent: Agent, **which: Any) -> Any:
    counted = agent.post("memory/forget", which, 200)
    assert counted["forgotten"] is False
    return agent.post("memory/forget", {**which, "confirm_token": counted["confirm_token"]})


def statuses(account: Account) -> dict[str, str]:
    with acting(account):
        return dict(MemoryEntry.objects.order_by("pk").values_list("content", "status"))


def test_user_reset_keeps_other_memories(member: Agent, acme: Account) -> None:
    store(member, "Ann likes figs.", user_id="ann")
    store(member, "Ann asked for the bill.", user_id="ann", run_id="r", visibility="conversation")
    store(member, "Bob likes plums.", user_id="bob")
    store(member, "The bill was paid.", run_id="r")
    counted = member.post("memory/forget", {"user_id": "ann"}, 200)
    assert (counted["count"], counted["needs_review"]) == (2, 0)
    assert set(statuses(acme).values()) == {"active"}  # nothing has happened yet
    commits = makers.count(Commit, acme)
    token = {"confirm_token": counted["confirm_token"]}
    done = member.post("memory/forget", {"user_id": "ann", **token, "reason": "They left."}, 200)
    assert done == {
        "forgotten": True,
        "count": 2,
        "status": "SUCCEEDED",
        "state": "SUCCEEDED",
        "event_ids": [],
    }
    assert statuses(acme) == {
        "Ann likes figs.": "forgotten",
        "Ann asked for the bill.": "forgotten",
        "Bob likes plums.": "active",
        "The bill was paid.": "active",
    }
    assert makers.count(Commit, acme) == commits + 1
    assert member.post("memory/search", {"query": "figs", "user_id": "ann"})["results"] == []
    assert (
        member.post("memory/forget", {"user_id": "ann", **token}, 409)["error"] == "count_changed"
    )


def test_conditions_are_combined(member: Agent, acme: Account) -> None:
    store(member, "Tea.", user_id="ann", kind="preference", tags=["food", "hot"])
    store(member, "Ice.", user_id="ann", kind="preference", tags=["food"])
    store(member, "Key.", user_id="ann", kind="fact", tags=["food", "hot"], importance=0.9)
    query: dict[str, Any] = {"user_id": "ann", "kinds": ["preference"], "tags": ["hot"]}
    assert forget(member, **query)["count"] == 1
    assert statuses(acme) == {"Tea.": "forgotten", "Ice.": "active", "Key.": "active"}
    assert forget(member, user_id="ann", filters={"importance": {"gte": 0.8}})["count"] == 1
    assert statuses(acme)["Key."] == "forgotten"


def test_a_named_memory_must_match_the_conditions(member: Agent, acme: Account) -> None:
    pk = store(member, "Tea.", user_id="ann", kind="preference", tags=["hot"], client_id="c1")
    others: list[dict[str, Any]] = [
        {"kinds": ["event"]},
        {"tags": ["cold"]},
        {"filters": {"importance": {"gte": 0.8}}},
        {"observed_before": "2000-01-01T00:00:00Z"},
    ]
    for condition in others:
        for name in ({"id": pk}, {"client_id": "c1"}):
            member.post("memory/forget", {**name, **condition}, 404)
    assert statuses(acme) == {"Tea.": "active"}
    assert member.post("memory/forget", {"id": pk, "tags": ["hot"]}, 200)["status"] == "forgotten"


def test_a_forgotten_memory_must_match_its_owner(member: Agent) -> None:
    pk = store(member, "Tea.", user_id="ann")
    for _ in range(2):
        member.post("memory/forget", {"id": pk, "user_id": "bob"}, 404)
        assert member.post("memory/forget", {"id": pk, "user_id": "ann"})["status"] == "forgotten"


def test_condition_aliases_are_accepted(member: Agent, acme: Account) -> None:
    store(member, "Tea.", user_id="ann", kind="preference", tags=["hot"])
    store(member, "Key.", user_id="ann", kind="fact")
    assert forget(member, user_id="ann", kind="preference", tags="hot")["count"] == 1
    assert statuses(acme) == {"Tea.": "forgotten", "Key.": "active"}


def test_unknown_condition_changes_nothing(member: Agent, agent: Agent, acme: Account) -> None:
    store(member, "Key.", user_id="ann")
    for query, by, word in (
        ("memory/forget", member, "kindz"),
        ("memory/forget", member, "min_score"),
        ("memory/erase", agent, "kinds"),
        ("memory/erase", agent, "written_befor"),
    ):
        answer = by.post(query, {"user_id": "ann", word: "x"}, 400)
        assert [issue["path"] for issue in answer["issues"]] == [word]
    account = {"account_id": str(acme.pk)}
    assert member.post("memory/forget", {"user_id": "ann", **account})["count"] == 1


def test_run_id_alone_does_not_forget_user_memories(member: Agent, acme: Account) -> None:
    store(member, "Said in r.", run_id="r")
    store(member, "Ann's, in a run of the same name.", user_id="ann", run_id="r")
    assert forget(member, run_id="r")["count"] == 1
    assert statuses(acme)["Ann's, in a run of the same name."] == "active"
    admin = makers.agent(acme)
    assert forget(admin, run_id="r")["count"] == 1


def test_agent_alone_does_not_forget_conversations_of_users(member: Agent, acme: Account) -> None:
    run = {"agent_id": "bot", "run_id": "r", "visibility": "conversation"}
    store(member, "Bot's own.", agent_id="bot")
    store(member, "Said by Ann in r.", user_id="ann", **run)
    assert forget(member, agent_id="bot")["count"] == 1
    assert statuses(acme)["Said by Ann in r."] == "active"
    assert forget(member, agent_id="bot", run_id="r")["count"] == 1


def test_owner_can_be_given_in_the_filter(member: Agent, acme: Account) -> None:
    store(member, "Tea.", user_id="ann", tags=["hot"])
    store(member, "Ice.", user_id="ann")
    store(member, "Bob's.", user_id="bob", tags=["hot"])
    ann: dict[str, Any] = {"AND": [{"user_id": "ann"}, {"tags": "hot"}]}
    for others in ({"user_id": "bob"}, {"agent_id": "bot"}):
        assert member.post("memory/forget", {**others, "filters": ann}, 200)["count"] == 0
    anyone: list[dict[str, Any]] = [{"OR": [ann]}, {"user_id": ["ann"]}, {"user_id": "*"}]
    for filters in anyone:
        assert member.post("memory/forget", {"filters": filters}, 200)["count"] == 0
    assert forget(member, filters=ann)["count"] == 1
    assert statuses(acme) == {"Tea.": "forgotten", "Ice.": "active", "Bob's.": "active"}
    store(member, "Said in r.", run_id="r")
    store(member, "Ann's, in a run of the same name.", user_id="ann", run_id="r")
    assert forget(member, filters={"session_id": "r"})["count"] == 1
    assert statuses(acme)["Ann's, in a run of the same name."] == "active"


def test_account_wide_memories_need_review(member: Agent, acme: Account) -> None:
    pk = store(member, "The office is in Ostrey.")
    own = store(member, "The office has a garden.")
    makers.update(MemoryEntry, acme, {"pk": pk}, status="active")
    query = {"filters": {"text": {"contains": "office"}}}
    counted = member.post("memory/forget", query, 200)
    assert (counted["count"], counted["needs_review"]) == (1, 1)
    forget(member, **query)
    with acting(acme):
        result = dict(MemoryEntry.objects.values_list("pk", "status"))
    assert {str(key): content for key, content in result.items()} == {
        pk: "active",
        own: "forgotten",
    }


def test_memory_that_is_approved_while_it_is_forgotten_needs_review(
    committed: str, member: Agent, acme: Account
) -> None:
    pk = store(member, "The office is in Ostrey.")
    proposal = makers.get(MemoryEntry, acme)
    answer = run_concurrently(
        acme,
        lambda: review.approve(makers.decision(proposal)),
        lambda: member.post("memory/forget", {"id": pk}, 403),
    )
    assert answer["error"] == "needs_review"
    assert statuses(acme) == {"The office is in Ostrey.": "active"}


def test_token_is_bound_to_its_selection(member: Agent, acme: Account) -> None:
    store(member, "Figs.", user_id="ann")
    store(member, "Plums.", user_id="bob")
    token = member.post("memory/forget", {"user_id": "ann"}, 200)["confirm_token"]
    other = member.post("memory/forget", {"user_id": "bob", "confirm_token": token}, 409)
    assert other["error"] == "count_changed"
    erasure = {"user_id": "ann", "confirm_token": token}
    admin = makers.agent(acme)
    admin.post("memory/erase", erasure, 400)  # issued for another operation and another key
    member.post("memory/forget", {"user_id": "ann", "confirm_token": "x"}, 400)
    assert set(statuses(acme).values()) == {"active"}


def test_rejects_a_selection_without_owner(member: Agent) -> None:
    store(member, "Figs.", user_id="ann")
    nobody: list[dict[str, Any]] = [{}, {"reason": "Because."}, {"user_id": ""}, {"filters": {}}]
    for content in nobody:
        member.post("memory/forget", content, 400)
    nothing = member.post("memory/forget", {"user_id": "zoe"}, 200)
    assert (nothing["count"], nothing["confirm_token"]) == (0, None)


def test_workers_forget_many_and_undo_restores_all(
    member: Agent, acme: Account, reviewer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("memory.actions.bulk_review", "memory.views.bulk_review"):
        monkeypatch.setattr(f"{module}.PART_SIZE", 2)
    member.write("Ann's fig.", "Ann's plum.", "Ann's pear.", user_id="ann")
    started = forget(member, user_id="ann")
    assert (started["forgotten"], started["status"]) == (False, "PENDING")
    assert len(started["event_ids"]) == 2
    makers.settle()
    for event in started["event_ids"]:
        assert member.get(f"events/{event}")["state"] == "SUCCEEDED"
    assert set(statuses(acme).values()) == {"forgotten"}
    run = makers.get(BulkRun, acme)
    page = reviewer.get(f"/review/bulk/{run.pk}/").content.decode()
    assert "Forget 3 memories" in page
    assert reviewer.post(f"/review/bulk/{run.pk}/undo/").status_code == 302
    makers.settle()
    assert set(statuses(acme).values()) == {"active"}


def test_reviewer_forgets_by_filter(reviewer: Client, member: Agent, acme: Account) -> None:
    for fruit, user in (("figs", "ann"), ("plums", "ann"), ("figs", "bob")):
        store(member, f"Likes {fruit}.", user_id=user)
    list_page = reviewer.get("/memory/?user_id=ann").content.decode()
    assert "/memory/forget/?user_id=ann" in list_page
    page = reviewer.get("/memory/forget/?user_id=ann")
    assert "Forget 2 memories?" in page.content.decode()
    form = {"ticket": page.context["extent"].ticket, "reason": "They left."}
    answer = reviewer.post("/memory/forget/?user_id=ann", form, follow=True)
    assert "2 forgotten." in answer.content.decode()
    with acting(acme):
        assert MemoryEntry.objects.filter(status="forgotten").count() == 2
        run = BulkRun.objects.get()
    answer = reviewer.post(f"/review/bulk/{run.pk}/undo/", follow=True)
    assert "2 memories restored." in answer.content.decode()
    for unfiltered in ("", "?user_id=+", "?user_id=+&tag=%20"):
        assert reviewer.get(f"/memory/forget/{unfiltered}").status_code == 400
        assert "/memory/forget/" not in reviewer.get(f"/memory/{unfiltered}").content.decode()
    assert reviewer.get("/memory/forget/?user_id=nobody").status_code == 200
