"""`X-KM-Variant` selects the ranking, and every response names it."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from kmapp.accounts.models import ApiKey
from kmapp.search.variants import VARIANT_HEADER
from tests.agent import Agent
from tests.fake_provider import FakeProvider
from tests.memory.chat_model import run_due_jobs

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("provider")]
SURROUNDED = {"near", "run", "window", "context"}
TURNS = ["When does the kiln fire?", "At dawn, when the bread is done.", "Who brings wood?"]


@pytest.fixture
def client(key: tuple[ApiKey, str], provider: FakeProvider) -> APIClient:
    client = APIClient(headers={"authorization": f"Bearer {key[1]}"})
    for text in TURNS:
        content = {"text": text, "user_id": "mira", "run_id": "r1"}
        assert client.post("/v1/memory/store", content, format="json").status_code == 201
    run_due_jobs()  # derive the order of the turns
    return client


def ask(client: APIClient, path: str, variant: str | None, **more: Any) -> Any:
    body = {"query": "When does the kiln fire?", "user_id": "mira", **more}
    headers = {VARIANT_HEADER: variant} if variant else {}
    answer = client.post(f"/v1/{path}", body, format="json", headers=headers)
    assert answer.status_code < 300, answer.json()
    assert answer.headers[VARIANT_HEADER] == (variant or "v1")
    return answer.json()


def test_variants_rank_with_and_without_context(client: APIClient) -> None:
    usual = ask(client, "memory/search", None, explain=True)
    alone = ask(client, "memory/search", "v4", explain=True)
    assert (usual["variant"], usual["algo_version"]) == ("v1", "1")
    assert (alone["variant"], alone["algo_version"]) == ("v4", "3")
    for answer, expected in ((usual, SURROUNDED), (alone, set())):
        for hit in answer["results"]:
            assert SURROUNDED & hit["explain"]["parts"].keys() == expected
            assert hit["score"] == pytest.approx(sum(hit["explain"]["parts"].values()))
            assert hit["citations"][0]["variant"] == answer["variant"]
    scores = [{hit["text"]: hit["score"] for hit in each["results"]} for each in (usual, alone)]
    # The answer follows the question in the run, and shares hardly a word with it.
    assert scores[0][TURNS[1]] > scores[1][TURNS[1]]


def test_other_endpoints_use_the_variant(client: APIClient) -> None:
    recalled, injected = ask(client, "memory/recall_text", "v4"), ask(client, "memory/inject", "v4")
    for answer, cited in (
        (recalled, recalled["context"]["citations"]),
        (injected, [each for memory in injected["memories"] for each in memory["citations"]]),
    ):
        assert answer["variant"] == "v4"
        assert {each["variant"] for each in cited} == {"v4"}
    content = {"messages": [{"role": "user", "content": "When does the kiln fire?"}]}
    cost = ask(client, "context/assemble", "v4", **content)["context_cost"]
    cited = [each for each in cost["citations"] if each["kind"] == "memory_entry"]
    assert cited
    assert {each["algo_version"] for each in cited} == {"3"}


def test_rejects_unknown_variants(agent: Agent) -> None:
    memory = ("memory/search", "memory/store")
    for path in (*memory, "knowledge/search", "context/prepare", "tool-results/search"):
        refused = agent.post(path, {}, 400, **{VARIANT_HEADER: "v9"})
        assert refused["error"] == "unknown_variant", path


def test_schema_documents_the_header(agent: Agent) -> None:
    paths = agent.get("schema", format="json")["paths"]
    for path, method in (("memory/search", "post"), ("tool-results", "get")):
        names = [each["name"] for each in paths[f"/v1/{path}"][method]["parameters"]]
        assert VARIANT_HEADER in names
