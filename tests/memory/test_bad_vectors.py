"""Invalid vectors of an embedder are never stored."""

from collections.abc import Sequence
from uuid import UUID

import pytest
from django.db import connections
from django.db.models.functions import Now

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.outbox.actions import deliver_due, paused_until
from kmapp.outbox.models import Delivery
from kmapp.providers.errors import Faulted
from kmapp.search import embed_jobs
from kmapp.search.models import Vector
from memory.actions.embeddings import embed_entries
from memory.jobs import handlers
from tests import makers
from tests.agent import Agent
from tests.fake_provider import BAD_ANSWERS, BAD_VECTORS, FakeProvider
from tests.promises.plugin import RecordFigure

pytestmark = pytest.mark.promise(19)

ENTRIES = 20
MODES = [*BAD_VECTORS, *BAD_ANSWERS]
TEXTS = [
    "The harbour in Lisbon opens on Monday.",
    "Grandmother keeps her violin under the stairs.",
    "Glaciers retreat faster every summer.",
    "Our bakery sells rye bread before dawn.",
    "A brass compass points to magnetic north.",
    "Wild bees pollinate the apple orchard.",
    "The lantern festival attracts forty thousand visitors.",
    "Copper roofs turn green within decades.",
    "奶奶每天早上喝一杯绿茶。",
    "会议改到星期四下午三点。",
]


def test_covers_six_modes() -> None:
    assert len(MODES) == 6


@pytest.mark.parametrize("mode", MODES)
def test_bad_vector_fails(mode: str, agent: Agent, acme: Account, provider: FakeProvider) -> None:
    nodes = [{"text": f"Note {n} of the day.", "user_id": "u"} for n in range(ENTRIES)]
    ids = [node["id"] for node in agent.post("memory/write", {"nodes": nodes}, 201)["nodes"]]
    provider.become(mode)
    deliver_due("embedding")
    with acting(acme):
        vectors = Vector.objects.of(acme)
        assert not vectors.filter(state="READY").exists()
        assert not vectors.exclude(embedding=None).exists()
        assert vectors.filter(state="FAILED").exclude(error="").count() == ENTRIES
        pending = Delivery.objects.of(acme).filter(handler="memory.handlers.embed", done_at=None)
        assert pending.exclude(last_error="").count() == ENTRIES
    for each in ids:
        assert agent.post("memory/get", {"id": each})["embedding_status"] == "FAILED"
    makers.update(Delivery, acme, {}, due_at=Now(), last_error="")
    provider.become("ok")
    makers.settle()
    assert makers.count(Vector, acme, state="READY") == ENTRIES


def test_texts_for_which_the_provider_fails_do_not_stop_others(
    agent: Agent, acme: Account, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = ["An odd note.", "Another odd note.", "Green tea."]
    nodes = [{"text": text, "user_id": "u"} for text in texts]
    written = agent.post("memory/write", {"nodes": nodes}, 201)["nodes"]
    odd, other, good = [UUID(node["id"]) for node in written]
    provider.become("error", only="odd")

    def deliver(probe: UUID) -> dict[UUID, int]:
        """Deliver with this probe. Return the attempts of open jobs by memory."""
        monkeypatch.setattr(embed_jobs, "choice", lambda _: probe)
        paused_until.clear()
        makers.update(Delivery, acme, {}, due_at=Now())
        deliver_due("embedding")
        with acting(acme):
            rows = Delivery.objects.of(acme).filter(handler="memory.handlers.embed").open()
            attempts = rows.values_list("event__payload__entry", "attempts")
            return {UUID(entry): number for entry, number in attempts}

    def embed_together(account_id: UUID, ids: Sequence[UUID]) -> dict[UUID, Exception]:
        if len(ids) > 1:
            raise Faulted("Its first texts fail.")
        return embed_entries(account_id, ids)

    monkeypatch.setattr(handlers, "embed_entries", embed_together)
    assert deliver(odd) == {odd: 0, other: 0, good: 0}  # as in an outage
    assert not makers.count(Vector, acme, state="READY")
    attempts = deliver(good)
    assert attempts.keys() == {odd, other}
    assert min(attempts.values()) > 0  # so they fail permanently after some
    assert makers.count(Vector, acme, state="READY", object_id=good) == 1


def test_zero_vector_is_ignored(
    committed: str, agent: Agent, acme: Account, record_figure: RecordFigure
) -> None:
    planted = "Zinc prices fell sharply."
    nodes = [{"text": text, "user_id": "u"} for text in [planted, *TEXTS]]
    agent.post("memory/write", {"nodes": nodes}, 201)
    makers.settle()
    with connections["owner"].cursor() as cursor:
        cursor.execute(
            "UPDATE search_vector v SET embedding = array_fill(0, ARRAY[384])::halfvec"
            " FROM memory_memoryentry e WHERE e.id = v.object_id AND e.content = %s",
            [planted],
        )
        assert cursor.rowcount == 1
    right = 0
    for number in range(100):
        text = TEXTS[number % len(TEXTS)]
        query = {"query": f"{text} {number}", "user_id": "u", "min_score": 0.7, "limit": 100}
        result = [hit["text"] for hit in agent.post("memory/search", query)["results"]]
        assert planted not in result
        right += text in result
    assert right > 50
    record_figure("0 READY; a zero in 0 of 100 searches")
