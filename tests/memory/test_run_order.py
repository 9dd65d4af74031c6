"""The order of turns in a run, and rebuilding derived data."""

from collections.abc import Callable
from uuid import UUID

import psycopg
import pytest
from django.core.management import call_command
from django.db import connection

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.outbox.models import OutboxEvent
from kmapp.search.models import IndexedDocument, Vector
from memory.actions import review
from memory.actions.derived_edges import derive_run_order
from memory.actions.embeddings import embed_entries, enqueue_contexts
from memory.actions.follow_up_jobs import EMBED_CONTEXT
from memory.actions.review import Decision
from memory.models import MemoryEdge, MemoryEntry
from memory.models.entries import COLLECTION, CONTEXT_COLLECTION
from tests import makers
from tests.agent import Agent

pytestmark = pytest.mark.usefixtures("provider")  # the order does not depend on vectors
RUN = {"user_id": "u", "run_id": "r"}


def write_turns(agent: Agent, *texts: str, **more: str) -> None:
    for text in texts:
        agent.post("memory/store", {"text": text, **RUN, **more}, 201)


def decide(acme: Account, text: str, verb: Callable[[Decision], object]) -> None:
    with acting(acme):
        entry = MemoryEntry.objects.get(content=text)
        verb(makers.decision(entry))
    makers.settle()


def order(acme: Account) -> set[str]:
    with acting(acme):
        edges = MemoryEdge.objects.filter(type="next").select_related("src", "dst")
        return {f"{edge.src.content} {edge.dst.content}" for edge in edges}


def contexts(acme: Account) -> dict[str, str]:
    """Return the digest of the context text of each entry, by the entry's content."""
    with acting(acme):
        rows = Vector.objects.filter(collection=CONTEXT_COLLECTION)
        shas = dict(rows.values_list("object_id", "text_sha256"))
        names = dict(MemoryEntry.objects.values_list("pk", "content"))
        return {names[pk]: sha for pk, sha in shas.items()}


def test_forgotten_turn_is_bridged(agent: Agent, acme: Account) -> None:
    write_turns(agent, "One.", "Two.", "Three.")
    makers.settle()
    before = contexts(acme)
    decide(acme, "Two.", review.forget)
    assert order(acme) == {"One. Three."}
    after = contexts(acme)
    assert after.keys() == {"Three."}
    assert after["Three."] != before["Three."]

    decide(acme, "Two.", review.undo)
    assert order(acme) == {"One. Two.", "Two. Three."}
    assert contexts(acme) == before


def test_turns_of_other_audiences_are_not_linked(agent: Agent, acme: Account) -> None:
    write_turns(agent, "One.")
    write_turns(agent, "Of all.", visibility="account")
    write_turns(agent, "Elsewhere.", scope="work")
    write_turns(agent, "Another's.", agent_id="a")
    write_turns(agent, "Two.")
    makers.settle()
    assert order(acme) == {"One. Two."}


def test_approved_proposals_join_the_run(agent: Agent, acme: Account) -> None:
    write_turns(agent, "One.", "Two.", "Three.", visibility="account")
    makers.settle()
    decide(acme, "One.", review.approve)
    decide(acme, "Three.", review.approve)
    assert order(acme) == {"One. Three."}
    decide(acme, "Two.", review.approve)
    assert order(acme) == {"One. Two.", "Two. Three."}


def test_run_order_takes_an_advisory_lock(committed: str, agent: Agent, acme: Account) -> None:
    write_turns(agent, "One.", "Two.")
    with acting(acme):
        ids: list[UUID] = list(MemoryEntry.objects.values_list("pk", flat=True))
    with acting(acme):
        derive_run_order(acme.pk, ids)
        # Inside `acting` the lock is held until the outermost block ends.
        with psycopg.connect(**connection.get_connection_params()) as another:
            row = another.execute(
                "SELECT pg_try_advisory_xact_lock(hashtextextended(%s, 0))",
                [f"run\x1f{acme.pk}\x1fu\x1fr"],
            ).fetchone()
    assert row == (False,)


def test_texts_are_embedded_before_contexts(agent: Agent, acme: Account) -> None:
    nodes = [{"text": f"Turn {number}.", **RUN} for number in range(40)]  # more than one job takes
    agent.post("memory/write", {"nodes": nodes}, 201)
    makers.settle()
    with acting(acme):
        ready = Vector.objects.order_by("ready_at").values_list("collection", flat=True)
        assert list(ready) == [COLLECTION] * 40 + [CONTEXT_COLLECTION] * 39


def test_pending_contexts_are_counted(agent: Agent, acme: Account) -> None:
    write_turns(agent, "One.", "Two.", "Three.")
    with acting(acme):
        ids: list[UUID] = list(MemoryEntry.objects.values_list("pk", flat=True))
        enqueue_contexts(acme.pk, ids)
    assert embed_entries(acme.pk, ids) == {}
    assert agent.get("health")["pending_embeddings"] == 2
    makers.settle()
    assert agent.get("health")["pending_embeddings"] == 0


def test_unchanged_contexts_are_not_embedded_again(agent: Agent, acme: Account) -> None:
    write_turns(agent, "One.", "Two.")
    makers.settle()
    with acting(acme):
        jobs = OutboxEvent.objects.filter(topic=EMBED_CONTEXT)
        before = jobs.count()
        enqueue_contexts(acme.pk, list(MemoryEntry.objects.values_list("pk", flat=True)))
        assert (before, jobs.count()) == (1, 1)


def test_terms_vectors_and_order_are_rebuilt(agent: Agent, acme: Account) -> None:
    nodes = [{"text": text, "user_id": "u", "run_id": "r"} for text in ("Tea at nine.", "And ten.")]
    agent.post("memory/write", {"nodes": nodes}, 201)
    makers.settle()
    with acting(acme):
        for derived in (IndexedDocument, Vector, MemoryEdge):
            derived.objects.of(acme).delete()
    assert agent.post("memory/search", {"query": "tea", "user_id": "u"})["results"] == []
    call_command("memories", "rebuild", "--account", acme.slug)
    makers.settle()
    [hit, *_] = agent.post("memory/search", {"query": "tea", "user_id": "u"})["results"]
    assert (hit["text"], hit["embedding_status"]) == ("Tea at nine.", "READY")
    assert makers.count(MemoryEdge, acme, type="next") == 1
