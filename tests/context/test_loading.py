"""Loading of passages into conversations."""

import pytest

from tests.agent import Agent
from tests.context.test_archives import LONG
from tests.context.test_preparing import conversation


@pytest.mark.usefixtures("low_threshold")
def test_result_without_a_matching_passage_stays_a_placeholder(agent: Agent) -> None:
    body = {"messages": conversation(LONG, "short"), "conversation_id": "c1"}
    first = agent.post("context/prepare", body)
    load = {"load_uuids": [first["archived"][0]["uuid"]], "max_tokens": 400}
    answer = agent.post("context/prepare", {**body, **load, "query": "zzz qqq"})
    assert answer["messages"] == first["messages"]
    assert [(each["part"], each["tokens"]) for each in answer["loaded"]] == [("passages", 0)]
