"""Switching to another embedding model while the product runs."""

import io
import re
from collections.abc import Iterator, Sequence
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connections
from django.test import Client

from kmapp.accounts.models import Account
from kmapp.outbox.deliver import deliver_due, paused_until
from kmapp.providers import embedding_model_lifecycle
from kmapp.providers.active_models import active_model, clear_model_cache
from kmapp.providers.embedding import OpenAIEmbedder
from kmapp.providers.models import EmbeddingModel
from kmapp.runtime import embedded
from kmapp.search import embedding_model_switch
from kmapp.search.nearest_indexes import list_indexes
from tests import makers
from tests.agent import Agent
from tests.fake_provider import FakeProvider
from tests.knowledge.builders import deliver
from tests.web.pages import page

TEXTS = ["The cat sleeps on the sofa.", "Revenue rose by ten percent.", "猫在沙发上睡觉。"]
State = EmbeddingModel.State


@pytest.fixture(autouse=True)
def own_database(committed: str) -> Iterator[None]:
    clear_model_cache()
    yield
    clear_model_cache()


def command(*words: str, **options: Any) -> str:
    out = io.StringIO()
    call_command("embedding_models", *words, stdout=out, **options)
    return out.getvalue()


def add(template: str = '"{text}"') -> int:
    first = EmbeddingModel.objects.get(state=State.ACTIVE)
    size = f"--dimensions={first.dimensions}"
    out = command("add", first.name, size, "--sends-input-type", f"--template={template}")
    return int(re.findall(r"#(\d+) was added", out)[0])


def write(agent: Agent, *texts: str) -> list[str]:
    body = {"nodes": [{"text": text, "kind": "event", "user_id": "u"} for text in texts]}
    return [node["id"] for node in agent.post("memory/write", body, 201)["nodes"]]


def vectors(number: int) -> dict[str, int]:
    return embedding_model_switch.count_states(EmbeddingModel.objects.get(pk=number))


def indexes() -> set[str]:
    with connections["owner"].cursor() as cursor:
        cursor.execute("SELECT indexname FROM pg_indexes WHERE tablename = 'search_vector'")
        return {row[0] for row in cursor.fetchall()}


def test_second_model_is_filled_compared_and_activated(agent: Agent) -> None:
    write(agent, *TEXTS)
    makers.settle()
    first, second = active_model().pk, add()
    assert f"vectors_nearest_{second}_memory" in indexes()

    command("backfill", str(second))
    assert vectors(second) == vectors(first) == {"READY": 3}

    result = command("compare", str(first), str(second))
    assert "has vectors of 100.0 % of 3 texts" in result
    assert result.count(": 3 of 3") == 2

    command("activate", str(second))
    assert active_model().pk == second
    hits = agent.post("memory/search", {"query": "a pet naps on the couch", "user_id": "u"})
    assert hits["results"][0]["text"] in (TEXTS[0], TEXTS[2])
    assert hits["results"][0]["embedding_status"] == "READY"

    command("drop", str(first), "--yes")
    assert not EmbeddingModel.objects.filter(pk=first).exists()
    assert vectors(second) == {"READY": 3}
    assert f"vectors_nearest_{first}_memory" not in indexes()
    assert agent.post("memory/search", {"query": "profits", "user_id": "u"})["results"]


def test_comparison_leaves_out_collections_without_texts(agent: Agent) -> None:
    write(agent, *TEXTS)
    makers.settle()
    first, second = active_model().pk, add()  # the second has no vectors
    result = command("compare", str(first), str(second), "--query=cat")
    assert re.search(r"in common +0%", result)


def test_new_entries_get_one_vector_per_model(agent: Agent) -> None:
    first, second = active_model().pk, add()
    write(agent, TEXTS[0])
    assert vectors(first) == vectors(second) == {"PENDING": 1}
    assert agent.get("health")["pending_embeddings"] == 1, "of the active model"
    makers.settle()
    assert vectors(first) == vectors(second) == {"READY": 1}
    assert embedding_model_switch.backfill_model(EmbeddingModel.objects.get(pk=second)) == 0
    assert vectors(second) == {"READY": 1}
    assert agent.get("health")["pending_embeddings"] == 0


def test_outage_of_one_model_does_not_stop_the_other(agent: Agent, provider: FakeProvider) -> None:
    first, second = active_model().pk, add()
    provider.become("error", only="[")  # only the first model's passages begin with "[" and a date
    write(agent, TEXTS[0])
    paused_until.clear()
    deliver_due("embedding")
    assert (vectors(first), vectors(second)) == ({"PENDING": 1}, {"READY": 1})


def test_pages_of_documents_count_vectors_of_the_active_model(
    acme: Account, reviewer: Client, provider: FakeProvider
) -> None:
    second = add(template="x {text}")
    provider.become("error", only="x ")
    [document] = deliver(acme, {"tea.md": "# Tea"}).documents
    paused_until.clear()
    deliver_due("embedding")
    assert vectors(second) == {"PENDING": 1}
    for path in (f"documents/{document.pk}", f"sources/{document.source_id}"):
        assert "can be found by keyword and meaning" in page(reviewer.get(f"/knowledge/{path}/"))


def test_incomplete_model_needs_force_and_dropping_a_confirmation(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(agent, *TEXTS)
    makers.settle()
    first, second = active_model().pk, add()
    with pytest.raises(CommandError, match=r"no vector for 3 of 3 texts[^$]*backfill \d"):
        command("activate", str(second))
    command("activate", str(second), "--force")
    assert active_model().pk == second
    query: list[str] = []

    def no(question: str) -> str:
        query.append(question)
        return "n"

    monkeypatch.setattr("builtins.input", no)
    with pytest.raises(CommandError, match="Nothing was deleted"):
        command("drop", str(first))
    assert len(query) == 1
    assert "3 vectors" in query[0]
    assert vectors(first) == {"READY": 3}


def test_texts_that_a_forced_activation_leaves_out_are_embedded_later(agent: Agent) -> None:
    write(agent, *TEXTS)
    makers.settle()
    first, second = active_model().pk, add()
    forced = command("activate", str(second), "--force")
    assert "no vector for 3 of 3 texts" in forced
    assert f"embedding_models backfill {second}" in forced
    write(agent, "The dog barks at the mailman.")
    makers.settle()
    assert (vectors(first), vectors(second)) == ({"READY": 3}, {"READY": 1})
    assert "has vectors of 100.0 % of 4 texts." in command("backfill", str(second))
    assert vectors(second) == {"READY": 4}
    assert embedding_model_switch.backfill_model(EmbeddingModel.objects.get(pk=second)) == 0


def test_interrupted_backfill_resumes(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    write(agent, *TEXTS)
    makers.settle()
    second = EmbeddingModel.objects.get(pk=add())
    monkeypatch.setattr(embedding_model_switch, "BLOCK_OBJECTS", 2)

    def stop(done: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        embedding_model_switch.backfill_model(second, stop)
    assert vectors(second.pk) == {"READY": 2}
    steps: list[int] = []
    embedding_model_switch.backfill_model(second, steps.append)
    assert steps == [1]
    assert vectors(second.pk) == {"READY": 3}


def test_reactivated_model_has_no_stale_vectors(agent: Agent) -> None:
    [cat, *_] = write(agent, *TEXTS)
    makers.settle()
    first, second = active_model().pk, add()
    command("backfill", str(second))
    command("activate", str(second))
    agent.post("memory/update", {"id": cat, "text": "The dog barks at the mailman."}, 200)
    makers.settle()
    assert vectors(first) == {"READY": 2}
    command("backfill", str(first))
    command("activate", str(first))
    hits = agent.post("memory/search", {"query": "a noisy hound", "user_id": "u"})["results"]
    assert hits[0]["text"].startswith("The dog")


def test_text_embedded_during_the_activation_gets_a_vector(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(agent, TEXTS[0])
    makers.settle()
    second = add()
    command("backfill", str(second))
    command("retire", str(second))
    activate = embedding_model_lifecycle.activate_model

    def write_and_activate(model: EmbeddingModel) -> None:
        write(agent, TEXTS[1])
        makers.settle()
        activate(model)

    monkeypatch.setattr(embedding_model_lifecycle, "activate_model", write_and_activate)
    command("activate", str(second))
    assert vectors(second) == {"READY": 2}


def test_job_embeds_for_a_model_that_is_activated_meanwhile(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = active_model().pk, add()
    command("retire", str(second))
    write(agent, TEXTS[0])
    embed = OpenAIEmbedder.embed

    def activate_and_embed(
        embedder: OpenAIEmbedder, texts: Sequence[str], *, kind: Any
    ) -> list[list[float]]:
        if active_model().pk == first:
            command("activate", str(second))
        return embed(embedder, texts, kind=kind)

    monkeypatch.setattr(OpenAIEmbedder, "embed", activate_and_embed)
    makers.settle()
    assert vectors(first) == vectors(second) == {"READY": 1}


def test_only_retired_models_are_dropped() -> None:
    with pytest.raises(CommandError, match="only a retired model"):
        command("drop", str(active_model().pk), "--yes")
    second = add()
    with pytest.raises(CommandError, match="only a retired model"):
        command("drop", str(second), "--yes")
    command("retire", str(second))
    command("drop", str(second), "--yes")
    assert EmbeddingModel.objects.count() == 1


def test_invalid_models_are_not_added() -> None:
    with pytest.raises(CommandError, match="384 dimensions instead of 100"):
        command("add", active_model().name, "--dimensions=100", "--sends-input-type")
    with pytest.raises(CommandError, match=r"use \{text\}"):
        command("add", "any", "--dimensions=384", "--template={title}")
    assert EmbeddingModel.objects.count() == 1


def test_invalid_index_is_rebuilt(committed: str) -> None:
    index, *_ = list_indexes(active_model())
    url = embedded.server_url(settings.DATA_DIR).replace("/postgres?", f"/{committed}?")
    # What an interrupted CREATE INDEX CONCURRENTLY leaves behind.
    with psycopg.connect(url, autocommit=True) as superuser:
        superuser.execute(
            "UPDATE pg_index SET indisvalid = false WHERE indexrelid = to_regclass(%s)",
            [index.name],
        )
        index.create()
        row = superuser.execute(
            "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)", [index.name]
        ).fetchone()
    assert row == (True,)
