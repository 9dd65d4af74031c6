"""Erasure of ranking comparisons that are stored, queued, or just being stored."""

import pytest

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account
from kmapp.search.candidate_ranking import rank_candidates
from kmapp.search.candidate_signals import Candidate, Query
from memory.actions.confirmation_tickets import Confirmation
from memory.actions.erasure import OPERATION, erase_entries
from memory.actions.shadow_comparisons import store_observations
from memory.models import MemoryEntry, Ranking, RankingComparison, Viewer
from memory.retrieval.shadow_rankings import Shadow, push_observation
from tests import makers
from tests.race import run_concurrently

QUESTION = "Where does Mira live?"


def ask(account: Account, user_id: str, *results: MemoryEntry) -> None:
    """Queue a comparison of these results with those of the shadow ranking."""
    ranking = makers.get(Ranking, account)
    shadow = Shadow(account.pk, ranking.pk, ranking.to_account_ranking())
    candidates = [Candidate(id=str(entry.pk), cosine=None) for entry in results]
    ranked = rank_candidates(Query(text=QUESTION, idf={}), candidates)
    push_observation(shadow, QUESTION, Viewer(user_id=user_id), ranked)


def erase(account: Account, person: str) -> None:
    with acting(account):
        rows = MemoryEntry.objects.of(account).filter(user_id=person)
        ids = list(rows.values_list("pk", flat=True))
        ticket = Confirmation(OPERATION, account.pk, SYSTEM, ids, person).ticket
        erase_entries(account.pk, rows, SYSTEM, ticket=ticket, person=person)


@pytest.fixture
def entries(acme: Account) -> list[MemoryEntry]:
    """A memory of Mira and one of Noor, with a ranking in shadow mode."""
    entries = [makers.write(acme, f"{user} has tea.", user_id=user)[0] for user in ("mira", "noor")]
    makers.learned_ranking(entries[1])
    makers.update(RankingComparison, acme, {}, origin="learned_on")
    return entries


def count_stored(account: Account) -> int:
    return makers.count(RankingComparison, account, origin="shadow")


def test_waiting_question_of_an_erased_person_is_not_stored(
    acme: Account, entries: list[MemoryEntry]
) -> None:
    ask(acme, "mira")  # without results, so only the user id refers to Mira
    erase(acme, "mira")
    assert store_observations(acme.pk) == count_stored(acme) == 0


@pytest.mark.parametrize("number", [0, 1], ids=["erased_memory", "other_memory"])
def test_question_of_an_erased_person_is_not_stored(
    acme: Account, entries: list[MemoryEntry], number: int
) -> None:
    erase(acme, "mira")
    ask(acme, "mira", entries[number])  # by a search that started before the erasure
    ask(acme, "noor", entries[1])
    assert store_observations(acme.pk) == 1
    assert makers.get(RankingComparison, acme, origin="shadow").user_id == "noor"


def test_erasure_deletes_questions_that_are_being_stored(
    committed: str, acme: Account, entries: list[MemoryEntry]
) -> None:
    ask(acme, "mira", entries[0])
    run_concurrently(acme, lambda: store_observations(acme.pk), lambda: erase(acme, "mira"))
    assert count_stored(acme) == 0
    assert makers.count(RankingComparison, acme) == 1


def test_questions_wait_until_an_erasure_is_committed(
    committed: str, acme: Account, entries: list[MemoryEntry]
) -> None:
    ask(acme, "noor", entries[1])
    ask(acme, "noor", entries[0])

    def store() -> int:
        return store_observations(acme.pk)

    with acting(acme):
        [entry] = MemoryEntry.objects.of(acme).filter(user_id="mira")
        ids = [entry.pk]
        ticket = Confirmation(OPERATION, acme.pk, SYSTEM, ids, "").ticket

    def erase_memory() -> None:
        rows = MemoryEntry.objects.of(acme).filter(pk__in=ids)
        erase_entries(acme.pk, rows, SYSTEM, ticket=ticket)

    assert run_concurrently(acme, erase_memory, store) == 0
