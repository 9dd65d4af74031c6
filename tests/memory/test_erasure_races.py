"""Writes during an erasure: every sealed row that is deleted is recorded as erased."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any
from uuid import UUID

import pytest

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.erasure_registry import erase_copies
from kmapp.accounts.models import Account
from kmapp.api.models import IdempotentRequest
from kmapp.errors import Conflict, NotFound
from kmapp.ledger.actions import Recording
from memory.actions import erasure, topic_growth
from memory.actions.apply_extraction import finish
from memory.actions.entry_locks import lock_entry
from memory.actions.judgements import NewJudgement, store_judgements
from memory.actions.topic_editing import merge_topics, split_topic
from memory.actions.topic_growth import GrowthResult, TopicChange, create_member_edges, member_edges
from memory.actions.write_entries import propose_update, write_batch
from memory.models import Extraction, Judgement, MemoryEdge, MemoryEntry, Viewer
from memory.models.entry_input import Batch, EdgeEnd, NewEdge
from memory.retrieval.shared_audience import Audience
from tests import makers
from tests.race import run_concurrently, run_on_own_connection, wait_until_blocked

pytestmark = pytest.mark.usefixtures("module_commits")


def erase(*entries: MemoryEntry) -> None:
    account_id = entries[0].account_id
    with acting(account_id):
        rows = MemoryEntry.objects.of(account_id).filter(pk__in=[entry.pk for entry in entries])
        ticket = erasure.preview_erasure(account_id, rows, SYSTEM).ticket
        erasure.erase_entries(account_id, rows, SYSTEM, ticket=ticket)


def write_edge(src: MemoryEntry, dst: MemoryEntry, kind: str = "related_to") -> None:
    edge = NewEdge(type=kind, src=EdgeEnd(id=src.pk), dst=EdgeEnd(id=dst.pk))
    with acting(dst.account_id):
        write_batch(account_id=dst.account_id, actor=SYSTEM, batch=Batch(entries=[], edges=[edge]))


def judge_entry(
    entry: MemoryEntry, label: str = "relevant", question: str = "Tea?", user_id: str = ""
) -> list[Judgement]:
    viewer = Viewer(user_id=user_id)
    new = NewJudgement(question=question, entry_id=entry.pk, label=label, viewer=viewer)
    with acting(entry.account_id):
        return store_judgements(entry.account_id, SYSTEM, [new], Judgement.Source.PERSON)


@pytest.mark.parametrize(
    ("write", "is_late", "refusals"),
    [
        (lambda entry, other: write_edge(other, entry), False, ()),
        # These wait for the erasure.
        (lambda entry, other: write_edge(other, entry), True, (Conflict,)),
        (lambda entry, other: judge_entry(entry), True, (NotFound,)),
    ],
    ids=["edge", "late_edge", "judgement"],
)
def test_row_written_during_an_erasure_is_recorded(
    acme: Account,
    monkeypatch: pytest.MonkeyPatch,
    write: Callable[[MemoryEntry, MemoryEntry], object],
    refusals: tuple[type[Exception], ...],
    *,
    is_late: bool,
) -> None:
    entry, other = makers.write(acme, "Ann drinks tea.", "Ben drinks tea.")
    writes: list[Future[Any]] = []

    def write_meanwhile(account_id: UUID, ids: Sequence[UUID]) -> None:
        if is_late:
            erase_copies(account_id, ids)
        writes.append(pool.submit(run_on_own_connection, lambda: write(entry, other)))
        wait_until_blocked(writes[0])
        if not is_late:
            erase_copies(account_id, ids)

    monkeypatch.setattr("memory.actions.erasure.erase_copies", write_meanwhile)
    with ThreadPoolExecutor(1) as pool:
        erase(entry)
    assert isinstance(writes[0].exception(), refusals or type(None))
    makers.check_ledger()
    assert makers.count(MemoryEdge, acme) == makers.count(Judgement, acme) == 0


def test_judgement_of_an_erased_person_is_recorded_or_stays(
    acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    [entry] = makers.write(acme, "Ann drinks tea.", user_id="ann")
    [other] = makers.write(acme, "Ben drinks tea.")
    judge_entry(other, user_id="ann")
    record_erasure = Recording.erase

    def judge_meanwhile(commit: Recording, object_type: str, object_id: UUID) -> None:
        record_erasure(commit, object_type, object_id)
        if object_type == Judgement._meta.label_lower:
            later = pool.submit(
                run_on_own_connection, lambda: judge_entry(other, "withdrawn", "Late?", "ann")
            )
            later.result()

    monkeypatch.setattr(Recording, "erase", judge_meanwhile)
    with ThreadPoolExecutor(1) as pool:
        erase(entry)
    assert makers.get(Judgement, acme).question == "Late?"
    makers.check_ledger()


def test_edges_and_erasures_wait_for_each_other(acme: Account) -> None:
    entry, third, other = makers.write(acme, "Ann drinks tea.", "Ann is 30.", "Ben drinks tea.")
    with pytest.raises(Conflict, match="erased in the meantime") as refused:
        run_concurrently(acme, lambda: erase(entry), lambda: write_edge(other, entry))
    assert refused.value.details == {"ids": [str(entry.pk)]}
    run_concurrently(acme, lambda: write_edge(other, third), lambda: erase(third))
    assert makers.count(MemoryEdge, acme) == 0
    makers.check_ledger()


RETRY = {"Idempotency-Key": "one"}


def test_erased_memory_is_not_in_the_response_of_a_repeated_write(acme: Account) -> None:
    agent, body = makers.agent(acme), {"text": "Ann drinks tea.", "user_id": "ann"}
    agent.post("memory/store", body, 201)
    [entry] = makers.rows(MemoryEntry, acme)
    again = run_concurrently(
        acme, lambda: erase(entry), lambda: agent.post("memory/store", body, 201, **RETRY)
    )
    assert UUID(again["id"]) == makers.get(MemoryEntry, acme).pk != entry.pk
    named = {"client_id": "tea", **body}
    stored = agent.post("memory/store", named, 201)
    entry = makers.get(MemoryEntry, acme, pk=stored["id"])
    refused = run_concurrently(
        acme,
        lambda: erase(entry),
        lambda: agent.post("memory/store", named, 410, **{"Idempotency-Key": "two"}),
    )
    assert refused["error"] == "client_id_erased"
    assert not makers.count(IdempotentRequest, acme, answer__contains=str(entry.pk))


def test_erased_memory_is_not_in_the_response_of_a_repeated_forgetting(acme: Account) -> None:
    agent = makers.agent(acme)
    forget = {"id": agent.store("Ann drinks tea.", user_id="ann")}
    agent.post("memory/forget", forget, 200)
    [entry] = makers.rows(MemoryEntry, acme)
    run_concurrently(
        acme, lambda: erase(entry), lambda: agent.post("memory/forget", forget, 410, **RETRY)
    )
    assert not makers.count(IdempotentRequest, acme, answer__contains="tea")


def test_topic_grows_without_an_erased_memory(acme: Account) -> None:
    entry, other = makers.write(acme, "Ann drinks tea.", "Ben drinks tea.")
    [topic] = makers.write(acme, "Tea", kind="topic")

    def grow() -> None:
        with acting(acme):
            create_member_edges(acme.pk, topic.pk, [entry.pk, other.pk])

    run_concurrently(acme, lambda: erase(entry), grow)
    with acting(acme):
        assert [edge.src_id for edge in member_edges(acme.pk, topic.pk)] == [other.pk]


def test_growth_leaves_out_an_erased_topic_and_the_name_of_an_erased_memory(acme: Account) -> None:
    entries = makers.write(acme, "Ann drinks tea.", "Ben drinks tea.", "Cem drinks tea.")
    [topic] = makers.write(acme, "Drinks", kind="topic")
    audience, ids = Audience.of_entry(topic), [entry.pk for entry in entries]
    changes = [
        TopicChange(audience=audience, ids=ids, name="Ann"),
        TopicChange(audience=audience, ids=ids, topic=topic.pk),
    ]
    erase(entries[0], topic)
    topic_growth._apply_changes(acme.pk, SYSTEM, changes, GrowthResult())  # noqa: SLF001
    assert makers.count(MemoryEntry, acme, kind="topic") == makers.count(MemoryEdge, acme) == 0
    makers.check_ledger()


def test_concurrent_equal_judgements_are_stored_once(acme: Account) -> None:
    [entry] = makers.write(acme, "Ann drinks tea.")
    assert run_concurrently(acme, lambda: judge_entry(entry), lambda: judge_entry(entry)) == []
    [changed] = run_concurrently(
        acme, lambda: judge_entry(entry), lambda: judge_entry(entry, "not_relevant")
    )
    assert makers.get(Judgement, acme) == changed
    makers.check_ledger()


def create_extraction(entry: MemoryEntry, *, by_person: bool) -> Extraction:
    """Store an unfinished extraction of the person of a memory, or of the memory itself."""
    with acting(entry.account_id):
        return Extraction.objects.create(
            account_id=entry.account_id,
            kind=Extraction.Kind.REWRITE,
            actor=str(SYSTEM),
            user_id=entry.user_id if by_person else "",
            memories=[] if by_person else [entry.pk],
            observed_at=entry.created_at,
            created_at=entry.created_at,
        )


def finish_extraction(row: Extraction, entry: MemoryEntry) -> None:
    finish(row, lambda _locked: {"results": []}, memories=[entry.pk])


@pytest.mark.parametrize("by_person", [True, False], ids=["person", "memory"])
def test_erasure_locks_memories_before_extractions(acme: Account, *, by_person: bool) -> None:
    [entry] = makers.write(acme, "Ann drinks tea.", user_id="ann")
    row = create_extraction(entry, by_person=by_person)
    run_concurrently(
        acme,
        lambda: lock_entry(acme.pk, entry.pk),
        lambda: erase(entry),
        then=lambda: Extraction.objects.select_for_update(no_key=True).get(pk=row.pk),
    )
    assert makers.count(Extraction, acme) == makers.count(MemoryEntry, acme) == 0


def test_job_locks_memories_before_its_extraction(acme: Account) -> None:
    [entry] = makers.write(acme, "Ann drinks tea.", user_id="ann")
    row = create_extraction(entry, by_person=False)
    run_concurrently(
        acme,
        lambda: lock_entry(acme.pk, entry.pk),
        lambda: finish_extraction(row, entry),
        then=lambda: Extraction.objects.select_for_update().get(pk=row.pk),
    )
    assert makers.get(Extraction, acme).finished_at


@pytest.mark.parametrize("by_person", [True, False], ids=["person", "memory"])
def test_extraction_created_during_an_erasure_is_deleted(
    acme: Account, monkeypatch: pytest.MonkeyPatch, *, by_person: bool
) -> None:
    [entry] = makers.write(acme, "Ann drinks tea.", user_id="ann")
    jobs: list[Future[None]] = []

    def create_and_finish() -> None:
        finish_extraction(create_extraction(entry, by_person=by_person), entry)

    def extract_meanwhile(_account_id: UUID, _ids: Sequence[UUID]) -> None:
        jobs.append(pool.submit(run_on_own_connection, create_and_finish))
        wait_until_blocked(jobs[0])

    monkeypatch.setattr("memory.actions.erasure.clear_error_messages", extract_meanwhile)
    with ThreadPoolExecutor(1) as pool:
        erase(entry)
    jobs[0].result()
    assert makers.count(Extraction, acme) == makers.count(MemoryEntry, acme) == 0


def test_merge_records_the_edge_of_a_proposal(acme: Account) -> None:
    tea, drinks = makers.write(acme, "Tea", "Drinks", kind="topic")
    with acting(acme):
        proposal = propose_update(makers.decision(tea), {"content": "Green tea"})
        assert proposal.kind == "topic"
        merge_topics(makers.decision(tea), drinks.pk)
    makers.check_ledger()
    assert makers.get(MemoryEdge, acme, dst_id=tea.pk, type="supersedes").src_id == drinks.pk


def test_split_records_the_written_edges_of_members(acme: Account) -> None:
    [topic] = makers.write(acme, "Everything", kind="topic")
    members = makers.write(acme, *(f"Memory {n} of everything." for n in range(8)))
    with acting(acme):
        create_member_edges(acme.pk, topic.pk, [entry.pk for entry in members[2:]])
    for entry in members[:2]:
        write_edge(entry, topic, "part_of")
        write_edge(topic, entry, "derived_from")
    with acting(acme):
        new = split_topic(makers.decision(topic), [entry.pk for entry in members[:3]])
        assert member_edges(acme.pk, new.pk).count() == 3
        assert member_edges(acme.pk, topic.pk).count() == 5
    makers.check_ledger()
