"""Invalid vectors of an embedder are never stored."""

import pytest
from django.db import connections
from django.db.models.functions import Now

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.outbox.actions import deliver_due
from kmapp.outbox.models import Delivery
from kmapp.search.models import Vector
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
