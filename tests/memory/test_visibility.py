"""Who is told what, by the ids they name and by the time it is."""

import pytest

from tests.agent import Agent


def found(agent: Agent, **ids: str) -> set[str]:
    hits = agent.post("memory/search", {"query": "locker", **ids})["results"]
    return {hit["text"] for hit in hits}


@pytest.fixture
def told(agent: Agent) -> Agent:
    for text, ids in {
        "Ann's locker.": {"user_id": "ann", "run_id": "r"},
        "Bob's locker.": {"user_id": "bob", "run_id": "r"},
        "Nobody's locker.": {"run_id": "r"},
        "Ann said locker.": {"user_id": "ann", "run_id": "r", "visibility": "conversation"},
        "A bot's locker.": {"agent_id": "bot", "user_id": "ann", "run_id": "r"},
    }.items():
        agent.post("memory/store", {"text": text, **ids}, 201)
    return agent


def test_run_id_alone_shows_no_user_memories(told: Agent) -> None:
    assert found(told, run_id="r") == {"Nobody's locker.", "Ann said locker."}
    assert found(told, run_id="r", agent_id="bot") == set()


def test_user_sees_own_memories_of_a_run(told: Agent) -> None:
    anns = {"Ann's locker.", "A bot's locker."}
    assert found(told, run_id="r", user_id="ann") == {*anns, "Ann said locker."}
    assert found(told, user_id="ann") == anns


def test_future_memory_is_hidden(agent: Agent) -> None:
    for text, year in (("New locker.", 2999), ("Old locker.", 1999)):
        since = {"valid_from": f"{year}-01-01T00:00:00Z", "user_id": "u"}
        agent.post("memory/store", {"text": text, **since}, 201)
    assert found(agent, user_id="u") == {"Old locker."}


def test_private_lane_is_visible_to_its_owner(agent: Agent) -> None:
    nodes = [
        {"text": "My locker."},
        {"text": "My locker of this run.", "run_id": "r"},
        {"text": "Ann's locker.", "user_id": "ann"},
    ]
    batch = {"memory_lane": "private", "input_text": "notes", "nodes": nodes}
    refused = agent.post("memory/write", batch, 400)
    assert [issue["path"] for issue in refused["issues"]] == ["owner_agent_id"]
    agent.post("memory/write", {**batch, "owner_agent_id": "bot"}, 201)
    assert found(agent) == set()
    assert found(agent, run_id="r") == set()
    assert found(agent, agent_id="other") == set()
    assert found(agent, agent_id="bot") == {"My locker.", "My locker of this run."}
    assert found(agent, user_id="ann") == {"Ann's locker."}
