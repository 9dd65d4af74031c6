"""A ranking that an account learns from judgements, from the first one to the rollback."""

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connections
from django.test import Client
from django.urls import reverse

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from memory.actions.learn_ranking import run_learning
from memory.actions.shadow_comparisons import store_observations
from memory.benchmarks.offline_retrieval import Vectors, load_questions
from memory.models import Judgement, MemoryEntry, MemoryExport, Ranking, RankingComparison, Viewer
from memory.retrieval.learning import fit
from memory.retrieval.learning.questions import LabelledQuestion, list_labels, list_questions
from tests import makers
from tests.agent import Agent
from tests.fake_provider import FakeProvider
from tests.web.pages import page

pytestmark = pytest.mark.django_db

WORDS = """
kiln mill press forge dairy brewery bakery tannery foundry sawmill quarry smokehouse distillery
winery apiary nursery orchard cannery ropewalk shipyard glassworks pottery printery dyehouse
"""
THINGS = WORDS.split()
COLOUR_WORDS = """
red blue green black white grey brown pink gold lilac teal navy olive rose plum jade mint rust sand
wine corn peach lime coal
"""
COLOURS = COLOUR_WORDS.split()
OWNED = {"user_id": "mira", "auto_embed": False}
# Twelve texts that share more words with the question than the answer, which has names and numbers.
CHATTER = [
    f"did {who} of {{0}}ham {verb} the {{0}} of {{0}}ham"
    for who in ("anyone", "someone", "nobody")
    for verb in ("see", "like", "visit", "find")
]
ANSWER = "Ada Lovelace, 12 tons for the {0}, then Basil Ferrers with 7 carts."


def question(thing: str) -> str:
    return f"What did anyone of {thing}ham carry to the {thing}?"


def is_held_out(thing: str) -> bool:
    labelled = LabelledQuestion(text=question(thing), viewer=Viewer(), relevant=frozenset())
    return labelled.is_held_out


HELD_OUT = list(filter(is_held_out, THINGS))
FEW = HELD_OUT[:4]


@pytest.fixture
def answers(committed: str, agent: Agent) -> dict[str, str]:
    """The id of the answer to each question, by its thing."""
    agent.write(*(text.format(thing) for thing in THINGS for text in CHATTER), **OWNED)
    ids = agent.write(*map(ANSWER.format, THINGS), **OWNED)
    with connections["owner"].cursor() as cursor:  # a search without statistics takes a second
        cursor.execute(f"ANALYZE {MemoryEntry._meta.db_table}")
    return dict(zip(THINGS, ids, strict=True))


def build_judgements(answers: dict[str, str]) -> list[dict[str, Any]]:
    return [
        {"question": question(thing), "user_id": "mira", "memory_id": pk, "relevant": True}
        for thing, pk in answers.items()
    ]


def judge_all(agent: Agent, answers: dict[str, str]) -> None:
    judgements = build_judgements(answers)
    changed = agent.post("memory/judgements", {"judgements": judgements}, 200)["changed"]
    assert changed == len(answers)


def learn(agent: Agent) -> dict[str, Any]:
    """Request a ranking, run the job, and return the result."""
    ranking = agent.post("memory/rankings", {}, 202)
    makers.settle()
    result: dict[str, Any] = agent.get(f"memory/rankings/{ranking['id']}")
    return result


def results(agent: Agent, things: Sequence[str] = HELD_OUT) -> dict[str, Any]:
    """Return the results of each question, and the ranking that they name."""
    results = {}
    for thing in things:
        response = agent.post("memory/search", {"query": question(thing), "user_id": "mira"})
        results[thing] = {name: response[name] for name in ("results", "algo_version")}
    return results


def recall_of_held_out(found: dict[str, Any], answers: dict[str, str]) -> float:
    hits = [answers[one] in {hit["id"] for hit in found[one]["results"]} for one in HELD_OUT]
    return sum(hits) / len(hits)


def import_judgements(client: Client, answers: dict[str, str]) -> None:
    lines = map(json.dumps, build_judgements(answers))
    file = SimpleUploadedFile("judgements.jsonl", "\n".join(lines).encode())
    assert client.post(reverse("memory:judgements_import"), {"file": file}).status_code == 302


@pytest.mark.usefixtures("provider", "tokenizer")
def test_judgements_become_a_ranking_that_a_rollback_removes(
    agent: Agent, admin: Client, acme: Account, answers: dict[str, str]
) -> None:
    makers.settle()
    before = results(agent)
    import_judgements(admin, answers)
    assert "Learn a ranking" in page(admin.get(reverse("memory:ranking")))
    detail = admin.post(reverse("memory:ranking_learn"))["Location"]
    makers.settle()
    ranking = makers.get(Ranking, acme)
    path = f"memory/rankings/{ranking.pk}"
    draft = agent.get(path)
    assert draft["status"] == "draft", draft["evaluation"]
    measures = draft["evaluation"]["measures"]
    assert measures["R@10"]["low"] > 0
    recall = ranking.evaluation["measures"]["R@10"]
    assert f"{recall['after']:.3f}" in page(admin.get(detail, {"origin": "held_out"}))

    agent.patch(path, {"status": "active"}, 409)
    admin.post(reverse("memory:ranking_move", args=[ranking.pk]), {"status": "shadow"})
    assert results(agent, FEW) == {thing: before[thing] for thing in FEW}
    assert store_observations(acme.pk) == len(FEW)
    seen = agent.get(f"{path}/comparisons", origin="shadow")["results"]
    assert {row["question"] for row in seen} == {question(thing) for thing in FEW}
    assert any(answers[thing] in row["after"] for row in seen for thing in FEW)
    assert not any(answers[thing] in row["before"] for row in seen for thing in FEW)
    shadow = page(admin.get(detail))
    for thing in FEW:
        assert question(thing) in shadow
        assert ANSWER.format(thing) in shadow

    agent.patch(path, {"status": "active", "reason": "Dates matter here."}, 200)
    after = results(agent)
    assert {each["algo_version"] for each in after.values()} == {"1.r1"}
    assert recall_of_held_out(before, answers) == pytest.approx(
        measures["R@10"]["before"], abs=1e-4
    )
    assert recall_of_held_out(after, answers) == pytest.approx(measures["R@10"]["after"], abs=1e-4)
    assert recall_of_held_out(after, answers) > recall_of_held_out(before, answers)

    agent.patch(path, {"status": "retired"}, 200)
    assert results(agent) == before
    assert (
        makers.count(RankingComparison, acme, origin="held_out") == draft["evaluation"]["held_out"]
    )


@pytest.mark.usefixtures("provider")
def test_job_that_ends_late_does_not_replace_the_ranking(
    agent: Agent, acme: Account, answers: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    makers.settle()
    judge_all(agent, answers)
    pk = agent.post("memory/rankings", {}, 202)["id"]
    job = "memory.actions.learn_ranking.fit_weights"

    def learn_after_another_worker(*examples: Any, **prior: Any) -> Any:
        monkeypatch.setattr(job, fit.fit_weights)
        run_learning(acme.pk, UUID(pk))
        agent.patch(f"memory/rankings/{pk}", {"status": "shadow"}, 200)
        return fit.fit_weights(*examples, **prior)

    monkeypatch.setattr(job, learn_after_another_worker)
    makers.settle()
    assert makers.get(Ranking, acme).status == "shadow"
    assert makers.count(RankingComparison, acme) == len(THINGS)


def test_exported_questions_can_tune_weights(
    agent: Agent, admin: Client, acme: Account, tmp_path: Path
) -> None:
    answer, other = agent.write("The kiln is red.", "The mill is blue.", run_id="r", **OWNED)
    agent.write("The dairy of another user.", user_id="noor", auto_embed=False)
    import_judgements(admin, {"kiln": answer})
    answered = admin.post(reverse("memory:questions_export"))
    exported = makers.get(MemoryExport, acme, query="questions")
    assert exported.number == 2
    file = tmp_path / "questions.json.gz"
    file.write_bytes(answered.content)
    [collection] = json.loads(gzip.decompress(answered.content))["collections"]
    assert [item["id"] for item in collection["items"]] == [answer, other]
    assert collection["queries"] == [{"text": question("kiln"), "gold": [answer]}]
    vectors = Vectors(tmp_path / "vectors", lambda texts, _kind: np.eye(384)[: len(texts)].tolist())
    [read] = load_questions(file, vectors)
    assert (read.gold_count, len(read.gold), len(read.candidates)) == (1, 1, 2)


def labels_of(account: Account) -> list[tuple[str, str, bool]]:
    with acting(account):
        return sorted(
            (each.question, each.source, each.is_relevant) for each in list_labels(account.pk)
        )


@pytest.mark.usefixtures("provider")
def test_outcomes_of_calls_and_ratings_label_the_question_of_the_call(
    agent: Agent, acme: Account
) -> None:
    red, blue = (
        agent.store(f"The kettle is {colour}.", user_id="mira") for colour in ("red", "blue")
    )
    call = {"messages": [{"role": "user", "content": "Which kettle?"}], "user_id": "mira"}
    response = agent.post("context/assemble", {**call, "conversation_id": "c1"})
    assert labels_of(acme) == []
    report = response["report_id"]
    agent.post(f"context/reports/{report}/outcome", {"success": True})
    assert labels_of(acme) == [("Which kettle?", "call", True)] * 2
    agent.post("memory/feedback", {"id": red, "outcome": "very_negative", "used_in": "c1"})
    agent.post("memory/feedback", {"id": blue, "outcome": "negative", "query": "A red one?"})
    assert labels_of(acme) == [
        ("A red one?", "feedback", False),
        ("Which kettle?", "call", True),
        ("Which kettle?", "feedback", False),
    ]


def test_reviews_move_or_remove_labels(agent: Agent, acme: Account) -> None:
    old, wrong = agent.write("Red.", "Blue.", user_id="mira")
    body = {"question": "Colour?", "user_id": "mira", "relevant": True}
    judgements = [{**body, "memory_id": pk} for pk in (old, wrong)]
    agent.post("memory/judgements", {"judgements": judgements}, 200)
    with acting(acme):
        [question] = list_questions(acme.pk, list_labels(acme.pk))
    assert question.relevant == {UUID(old), UUID(wrong)}
    agent.post("memory/forget", {"id": wrong})
    edge = {"type": "supersedes", "src": {"client_id": "new"}, "dst": {"id": old}}
    node = {"text": "Dark red.", "user_id": "mira", "client_id": "new"}
    agent.post("memory/write", {"nodes": [node], "edges": [edge]}, 201)
    new = makers.get(MemoryEntry, acme, client_id="new")
    makers.update(MemoryEntry, acme, {"pk": old}, status="superseded")
    with acting(acme):
        [question] = list_questions(acme.pk, list_labels(acme.pk))
    assert question.relevant == {new.pk}


def test_few_questions_are_refused(agent: Agent) -> None:
    assert agent.post("memory/rankings", {}, 409)["error"] == "too_few_questions"


def judge_kettles(agent: Agent) -> None:
    ids = agent.write(*(f"The {colour} kettle." for colour in COLOURS), **OWNED)
    judgements = [
        {"question": f"{colour} kettle", "user_id": "mira", "memory_id": pk, "relevant": True}
        for colour, pk in zip(COLOURS, ids, strict=True)
    ]
    agent.post("memory/judgements", {"judgements": judgements}, 200)


@pytest.mark.parametrize("mode", ["refuse", "error"])
def test_question_that_the_embedder_fails_to_embed_is_left_out(
    agent: Agent, provider: FakeProvider, mode: str
) -> None:
    judge_kettles(agent)
    makers.settle()
    provider.become(mode, only="jade")
    assert learn(agent)["evaluation"]["questions"] == len(COLOURS) - 1


@pytest.mark.usefixtures("provider")
def test_no_draft_unless_held_out_questions_improve(agent: Agent) -> None:
    judge_kettles(agent)
    ranking = learn(agent)
    assert (ranking["status"], ranking["weights"]) == ("retired", {})
    assert ranking["evaluation"]["outcome"] == "not_better"
    agent.patch(f"memory/rankings/{ranking['id']}", {"status": "shadow"}, 409)


def test_rollbacks_end_with_the_shipped_weights(agent: Agent, acme: Account) -> None:
    entry = makers.get(MemoryEntry, acme, pk=agent.store("Red.", user_id="mira"))
    one, other = (makers.learned_ranking(entry, number=n, status="retired") for n in (1, 2))
    for status in ("active", "retired"):
        for ranking in (one, other, one):
            agent.patch(f"memory/rankings/{ranking.pk}", {"status": status}, 200)
    assert makers.count(Ranking, acme, status="active") == 0


def test_another_judgement_replaces_the_first(agent: Agent, acme: Account) -> None:
    pk = agent.store("Red.", user_id="mira")
    judged = {"question": "Colour?", "user_id": "mira", "memory_id": pk}
    for relevant, label in ((True, "relevant"), (False, "not_relevant"), (None, "withdrawn")):
        body = {"judgements": [{**judged, "relevant": relevant}]}
        assert agent.post("memory/judgements", body, 200)["changed"] == 1
        assert agent.post("memory/judgements", body, 200)["changed"] == 0
        assert makers.get(Judgement, acme).label == label
