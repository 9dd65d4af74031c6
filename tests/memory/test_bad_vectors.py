"""Invalid vectors of an embedder are never stored."""

from uuid import UUID

import pytest
from django.db import connections
from django.db.models.functions import Now

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.outbox.deliver import deliver_due, paused_until
from kmapp.outbox.models import Delivery
from kmapp.providers import embedding
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


def deliver_again(account: Account) -> None:
    """Deliver all embeddings that are not done, without the pauses after failures."""
    paused_until.clear()
    makers.update(Delivery, account, {"done_at": None}, due_at=Now())
    deliver_due("embedding")


def test_texts_for_which_the_provider_fails_do_not_stop_others(
    agent: Agent, acme: Account, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = ["An odd note.", "Another odd note.", "Green tea."]
    nodes = [{"text": text, "user_id": "u"} for text in texts]
    written = agent.post("memory/write", {"nodes": nodes}, 201)["nodes"]
    odd, other, good = [UUID(node["id"]) for node in written]
    provider.become("error", only="odd")
    monkeypatch.setattr(embedding, "PROBES", 0)  # as if all probed texts had failed
    # After the batch fails, one text chosen at random decides whether the provider is down. Only 1
    # of 10 ** 10 test runs never chooses "Green tea.".
    for _ in range(60):
        deliver_again(acme)
        if makers.count(Vector, acme, state="READY"):
            break
        with acting(acme):  # the job assumes an outage, which does not count as an attempt
            assert not Delivery.objects.of(acme).filter(attempts__gt=0, done_at=None).exists()
    states = {row.object_id: row.state for row in makers.rows(Vector, acme)}
    assert states == {odd: "FAILED", other: "FAILED", good: "READY"}
    for number in (1, 2):
        rows = makers.rows(Delivery, acme, handler="memory.handlers.embed", done_at=None)
        # Attempts are counted, so these jobs fail permanently in the end.
        assert [row.attempts >= number for row in rows] == [True, True]
        deliver_again(acme)
    paused_until.clear()


def test_an_outage_is_not_attributed_to_texts(
    agent: Agent, acme: Account, provider: FakeProvider
) -> None:
    nodes = [{"text": f"Note {n} of the day.", "user_id": "u"} for n in range(ENTRIES)]
    agent.post("memory/write", {"nodes": nodes}, 201)
    provider.become("error")
    deliver_again(acme)
    assert {row.state for row in makers.rows(Vector, acme)} == {"PENDING"}
    rows = makers.rows(Delivery, acme, handler="memory.handlers.embed")
    assert {(row.attempts, row.last_error) for row in rows} == {(0, "")}
    provider.become("ok")
    makers.update(Delivery, acme, {}, due_at=Now())
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
