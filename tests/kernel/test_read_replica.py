"""Searches on a read replica, which is a hot standby of the tests' server."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, cast
from uuid import uuid4

import psycopg
import pytest
from django.conf import settings as project
from django.db import connections

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.api import health
from kmapp.management.doctor.database import check_replica
from kmapp.management.doctor.registry import Level
from kmapp.providers.active_models import active_model
from kmapp.runtime import embedded
from kmapp.runtime.embedded.postgres import Postgres
from kmapp.runtime.processes import wait_until
from kmapp.search import packed_array_reads, read_replica
from kmapp.search.packed_array_cache import ArrayCache, CachedArray
from kmapp.search.posting_packing import pack_recent
from knowledge.retrieval.search import KnowledgeSearch
from knowledge.retrieval.search import search_with_vector as search_documents
from memory.models import Viewer
from memory.models.entries import COLLECTION
from memory.retrieval.restore_rehearsal_queries import SampleQuery, run_questions
from memory.retrieval.search import SearchRequest, search_with_vector
from tests import makers
from tests.agent import Agent
from tests.chaos.proxy import BREAKING, SERVICE_FAULTS, Proxy
from tests.standby import run_standby

TEXT = "The spare keys are in the cellar"
NEW_TEXT = "The spare keys hang in the shed now"
QUERY = "Where are the spare keys?"
PATIENCE = 60  # seconds


@pytest.fixture(scope="module")
def standby() -> Iterator[Postgres]:
    with run_standby() as server:
        yield server


class Tenant(NamedTuple):
    account: Account
    agent: Agent  # reused, because each new key adds a commit


@pytest.fixture
def tenant(
    module_commits: None, acme: Account, standby: Postgres, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Tenant]:
    """Configure the standby as the replica; yield an account whose searches use it."""
    monkeypatch.setattr(read_replica, "MAX_LAG", 600.0)  # tests of the lag set a lower one
    primary = connections["default"].settings_dict
    entry = {**primary, "HOST": str(standby.sockets)}
    monkeypatch.setitem(connections.settings, "replica", entry)
    read_replica.replica_state.clear()
    tenant = Tenant(acme, makers.agent(acme))
    makers.write(tenant.account, TEXT, user_id="ann")
    try:
        wait_for_replica(tenant.agent)
        yield tenant
    finally:
        superuser(standby, "SELECT pg_wal_replay_resume()")
        connections["replica"].close()
        del connections["replica"]
        read_replica.replica_state.clear()


def superuser(server: Postgres, statement: str) -> None:
    with psycopg.connect(server.url(), autocommit=True) as there:
        there.execute(statement)


def pause_replay(standby: Postgres) -> None:
    """Pause replay on the standby, and wait until it has stopped."""
    with psycopg.connect(standby.url(), autocommit=True) as there:
        there.execute("SELECT pg_wal_replay_pause()")
        query = "SELECT pg_get_wal_replay_pause_state()"
        assert wait_until(lambda: there.execute(query).fetchone() == ("paused",), PATIENCE)


def find(agent: Agent) -> list[str]:
    return [hit["text"] for hit in agent.search(QUERY, user_id="ann")]


def get_outcome(call: Callable[[], Any]) -> str:
    """Return how a search used the replica."""
    before = count_outcomes()
    call()
    [outcome] = [name for name, count in count_outcomes().items() if count > before.get(name, 0)]
    return outcome


def count_outcomes() -> dict[str, float]:
    [metric] = read_replica.SEARCHES.collect()
    samples = [each for each in metric.samples if each.name.endswith("_total")]
    return {each.labels["outcome"]: each.value for each in samples}


def search(agent: Agent) -> str:
    """Search, and return how the replica was used."""
    return get_outcome(lambda: find(agent))


def wait_for_replica(agent: Agent) -> None:
    assert wait_until(lambda: search(agent) == "replica", PATIENCE)


def change_behind_the_ledger(text: str) -> None:
    url = embedded.server_url(project.DATA_DIR)
    database = connections["default"].settings_dict["NAME"]
    with psycopg.connect(url, dbname=database, autocommit=True) as there:
        there.execute("UPDATE memory_memoryentry SET content = %s", [text])


CALLS: dict[str, Callable[[Agent], Any]] = {
    "search": lambda agent: agent.search(QUERY, user_id="ann"),
    "recall": lambda agent: agent.post(
        "memory/recall_text", {"query_text": QUERY, "user_id": "ann"}, 200
    ),
    "inject": lambda agent: agent.post("memory/inject", {"query": QUERY, "user_id": "ann"}, 200),
}


def test_reads_from_a_recent_replica(tenant: Tenant, standby: Postgres) -> None:
    pause_replay(standby)
    change_behind_the_ledger("The primary says otherwise")
    for name, call in CALLS.items():
        answer = str(call(tenant.agent))
        assert TEXT in answer, name
        assert "otherwise" not in answer, name


def test_finds_what_was_just_written(tenant: Tenant, standby: Postgres) -> None:
    pause_replay(standby)
    makers.write(tenant.account, NEW_TEXT, user_id="ann")
    assert search(tenant.agent) == "behind"
    assert NEW_TEXT in find(tenant.agent)
    superuser(standby, "SELECT pg_wal_replay_resume()")
    wait_for_replica(tenant.agent)
    assert NEW_TEXT in find(tenant.agent)


def test_does_not_use_a_replica_beyond_the_lag(
    tenant: Tenant, rival: Account, standby: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    pause_replay(standby)
    makers.write(rival, "Something of another account")
    assert search(tenant.agent) == "replica"  # it has all commits of this account
    monkeypatch.setattr(read_replica, "MAX_LAG", 0.2)
    monkeypatch.setattr(read_replica, "SAMPLE_INTERVAL", 0.0)
    assert wait_until(lambda: search(tenant.agent) == "behind", PATIENCE)
    superuser(standby, "SELECT pg_wal_replay_resume()")
    wait_for_replica(tenant.agent)


def test_uses_the_primary_while_the_replica_is_away(
    tenant: Tenant, standby: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    standby.stop()
    try:
        assert search(tenant.agent) == "failed"
        assert search(tenant.agent) == "paused"
        assert find(tenant.agent) == [TEXT]
        [finding] = check_replica()
        assert finding.level == Level.WARNING
    finally:
        standby.start()
    monkeypatch.setattr(read_replica, "PAUSE", 0.0)
    read_replica.replica_state.clear()
    wait_for_replica(tenant.agent)
    assert find(tenant.agent) == [TEXT]


@pytest.mark.promise(41)
@pytest.mark.parametrize("fault", ["latency", "reset", "truncation"])
def test_faulty_network_to_the_replica_stops_no_search(
    tenant: Tenant, standby: Postgres, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    with Proxy(str(standby.sockets / ".s.PGSQL.5432")).serving() as proxy:
        connections["replica"].close()
        entry = connections["replica"].settings_dict
        address = {"HOST": "127.0.0.1", "PORT": str(proxy.port)}
        monkeypatch.setitem(connections.settings, "replica", {**entry, **address})
        del connections["replica"]
        wait_for_replica(tenant.agent)
        proxy.become(SERVICE_FAULTS[fault])
        assert search(tenant.agent) == ("failed" if fault in BREAKING else "replica")
        assert find(tenant.agent) == [TEXT]
        proxy.recover()
        monkeypatch.setattr(read_replica, "PAUSE", 0.0)
        read_replica.replica_state.clear()
        wait_for_replica(tenant.agent)


def test_a_transaction_sees_what_it_wrote(tenant: Tenant) -> None:
    request = SearchRequest(query=QUERY, viewer=Viewer(user_id="ann"))
    with acting(tenant.account) as account_id:
        makers.write(tenant.account, NEW_TEXT, user_id="ann")
        hits = search_with_vector(account_id, request, None)
    assert NEW_TEXT in [hit.entry.content for hit in hits]


def test_rehearsals_of_a_restore_read_the_restored_database(tenant: Tenant) -> None:
    vector = (1.0,) * active_model().dimensions
    question = SampleQuery(
        account_id=tenant.account.pk, expected=uuid4(), text=QUERY, vector=vector
    )
    before = count_outcomes()
    [answer] = run_questions([question], is_exhaustive=True)
    assert answer.results
    assert count_outcomes() == before


def test_a_replica_shows_no_rows_of_other_accounts(tenant: Tenant, rival: Account) -> None:
    other = makers.agent(rival)
    wait_for_replica(other)
    assert find(other) == []


def test_arrays_of_both_servers_are_cached_apart(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a failover, the ids of transactions may have another meaning."""
    monkeypatch.setattr(packed_array_reads, "array_cache", cache := ArrayCache())

    def list_arrays(alias: str) -> dict[Any, list[Any]]:
        values = cast("dict[tuple[Any, ...], CachedArray]", cache._values)  # noqa: SLF001
        return {
            key[1:]: [column.tolist() for column in array.columns]
            for key, array in values.items()
            if key[0] == alias
        }

    pack_recent(tenant.account.pk, COLLECTION, at_least=1)

    def is_cached() -> bool:
        return find(tenant.agent) == [TEXT] and list_arrays("replica") != {}

    assert wait_until(is_cached, PATIENCE)
    assert find(tenant.agent) == [TEXT], "from the cache"
    monkeypatch.setattr(read_replica.replica_state, "paused_until", float("inf"))
    assert search(tenant.agent) == "paused"
    assert list_arrays("default") == list_arrays("replica")
    starts = {array.start for array in cache._values.values()}  # noqa: SLF001
    assert len(starts) == 2


def test_searches_of_documents_and_calls_use_the_primary(tenant: Tenant) -> None:
    before = count_outcomes()
    tenant.agent.post("knowledge/search", {"query": QUERY}, 200)
    body = {"messages": [{"role": "user", "content": QUERY}], "user_id": "ann"}
    tenant.agent.post("context/assemble", body, 201)
    search_documents(tenant.account.pk, KnowledgeSearch(query=QUERY), None)
    assert count_outcomes() == before


def test_doctor_compares_both_servers(tenant: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    [finding] = check_replica()
    assert finding.level == Level.OK, finding.message
    connections["replica"].close()
    host = connections["default"].settings_dict["HOST"]
    monkeypatch.setitem(connections["replica"].settings_dict, "HOST", host)
    [finding] = check_replica()
    assert finding.level == Level.ERROR
    assert "not a replica" in finding.message


def test_health_reports_the_lag(tenant: Tenant, standby: Postgres) -> None:
    pause_replay(standby)
    makers.write(tenant.account, NEW_TEXT)

    def is_behind() -> bool:
        report = health.check_replica(tenant.account.pk)
        return report.ok and report.facts["bytes_behind"] > 0

    assert wait_until(is_behind, PATIENCE)  # the test server writes its WAL later
