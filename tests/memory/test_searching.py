"""What was written is found again, by those who may see it."""

from tests import makers
from tests.agent import Agent


def write(agent: Agent, *texts: str, **more: str) -> None:
    nodes = [{"text": text, "kind": "event", **more} for text in texts]
    agent.post("memory/write", {"nodes": nodes}, 201)


def test_meaning_is_found_once_embedded(agent: Agent) -> None:
    write(
        agent, "The cat sleeps on the sofa.", "Quarterly revenue rose by ten percent.", user_id="u"
    )
    makers.settle()
    found = agent.post("memory/search", {"query": "a pet naps on the couch", "user_id": "u"})
    assert found["results"][0]["text"].startswith("The cat")
    assert found["results"][0]["embedding_status"] == "READY"
    assert agent.get("health")["pending_embeddings"] == 0


def test_a_user_does_not_see_another_users_memories(agent: Agent) -> None:
    write(agent, "My locker code is under the mat.", user_id="ann")
    assert agent.post("memory/search", {"query": "locker", "user_id": "bob"})["results"] == []


def test_a_search_by_user_spans_that_users_runs(agent: Agent) -> None:
    write(agent, "We met in Lisbon.", user_id="ann", run_id="r1")
    write(agent, "We met in Porto.", user_id="ann", run_id="r2")
    found = agent.post("memory/search", {"query": "met", "user_id": "ann"})["results"]
    assert {hit["run_id"] for hit in found} == {"r1", "r2"}


def test_what_everyone_would_see_waits_for_a_person(agent: Agent) -> None:
    write(agent, "The office closes at six.")
    assert agent.post("memory/search", {"query": "office"})["results"] == []


def test_a_runs_turns_follow_each_other(agent: Agent) -> None:
    from kmapp.accounts.acting import acting
    from kmapp.accounts.models import account_ids
    from memory.models import MemoryEdge

    write(agent, "One.", "Two.", "Three.", user_id="u", run_id="r")
    makers.settle()
    with acting(account_ids()[0]):
        edges = MemoryEdge.objects.filter(type="next").select_related("src", "dst")
        assert {(e.src.content, e.dst.content) for e in edges} == {
            ("One.", "Two."),
            ("Two.", "Three."),
        }
