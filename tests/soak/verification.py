"""Checks after the run: every acknowledged write is stored once and in its own account."""

from collections import Counter
from collections.abc import Sequence
from statistics import median
from typing import Any, LiteralString, NamedTuple

import psycopg

from kmapp.runtime import embedded
from tests.soak.clients import SoakClients
from tests.soak.deployment import Deployment
from tests.soak.workers import RULE_STATES

# Topics are created during the run; no client wrote them and they have no vectors.
WRITTEN = """
  SELECT client_id, id::text, account_id::text, content FROM memory_memoryentry
  WHERE kind <> 'topic'"""
TOPICS = "SELECT id::text, account_id::text FROM memory_memoryentry WHERE kind = 'topic'"
UNREADY = """
  SELECT count(*) FROM memory_memoryentry e WHERE kind <> 'topic' AND (
    SELECT count(*) FROM search_vector v WHERE v.account_id = e.account_id
      AND v.collection = 'memory' AND v.object_id = e.id AND v.state = 'READY') <> 1"""
PENDING = "SELECT count(*) FROM outbox_delivery WHERE done_at IS NULL AND failed_at IS NULL"
FAILED = "SELECT count(*) FROM outbox_delivery WHERE failed_at IS NOT NULL"
DECIDED = """
  SELECT e.id::text FROM memory_memoryentry e
  WHERE e.id::text = ANY (%s) AND e.status = 'active' AND 1 = (
    SELECT count(*) FROM memory_memoryversion v WHERE v.entry_id = e.id AND v.event = 'APPROVE')"""
RULES = """
  SELECT client_id, id::text, version - 1, account_id::text, name, state FROM rules_rule
  WHERE client_id IS NOT NULL"""
LEFT_VECTORS = """
  SELECT count(*) FROM search_vector v WHERE v.collection = 'memory' AND NOT EXISTS (
    SELECT FROM memory_memoryentry e WHERE e.account_id = v.account_id AND e.id = v.object_id)"""
MIN_LOAD = 0.5  # of the intended turns; with fewer, the run shows less than its page promises
MAX_GROWTH = 1.10  # memory in the last third of the time, against the second


class Finding(NamedTuple):
    """One line of the result."""

    what: str
    found: str
    holds: bool

    @property
    def verdict(self) -> str:
        return "yes" if self.holds else "**no**"


def expect_none(what: str, number: int) -> Finding:
    """Return a finding that holds if the number is zero."""
    return Finding(what, f"{number:,}", number == 0)


def verify_load(turns: int, possible: int) -> Finding:
    """Compare the turns of all clients with those that their pauses allow."""
    share = turns / possible
    return Finding("share of the intended load", f"{share:.0%}", share >= MIN_LOAD)


def verify_results(
    there: Deployment, clients: SoakClients, memory: Sequence[float]
) -> list[Finding]:
    """Compare the database with the writes and decisions that clients saw acknowledged."""
    rows = _rows(there, WRITTEN)
    ids = {client_id: pk for client_id, pk, _account, _text in rows}
    promised = {name: pk for each in clients.writers for name, pk in each.acknowledged.items()}
    promised |= dict.fromkeys(clients.importer.imported, "")  # an import returns no ids
    lost = [name for name, pk in promised.items() if ids.get(name, "?") != (pk or ids.get(name))]
    strays = [pk for _name, pk, of, text in rows if clients.accounts.get(text.split(":")[0]) != of]
    topic_accounts = dict(_rows(there, TOPICS))
    strays += [
        pk
        for each in clients.readers
        for pk in each.topics
        if topic_accounts.get(pk) != clients.accounts[each.tag]
    ]
    erased = [name for each in clients.erasers for name in each.erased]
    approved = clients.reviewer.approved
    approved_rows = _rows(there, DECIDED, approved)
    fsck = there.command("fsck")
    third = len(memory) // 3
    growth = median(memory[-third:]) / median(memory[third : 2 * third])
    return [
        Finding("memories acknowledged", f"{len(promised):,}", bool(promised)),
        expect_none("lost memories", len(lost)),
        expect_none("duplicate memories", len(rows) - len({text for *_ids, text in rows})),
        expect_none("memories in or visible to another account", len(strays)),
        expect_none("memories without exactly one vector", _count(there, UNREADY)),
        Finding("memories erased", f"{len(erased):,}", bool(erased)),
        expect_none("erased memories that still exist", len(ids.keys() & {*erased})),
        expect_none("vectors of erased memories", _count(there, LEFT_VECTORS)),
        expect_none("pending jobs", count_pending_jobs(there)),
        expect_none("failed jobs", _count(there, FAILED)),
        Finding("decisions acknowledged", f"{len(approved):,}", bool(approved)),
        expect_none("lost or duplicate decisions", len(approved) - len(approved_rows)),
        *_verify_rules(there, clients),
        expect_none("violations during the run", len(clients.wrong)),
        *(Finding("broken", message, holds=False) for message in clients.wrong[:5]),
        Finding("`fsck`", fsck.stdout.strip().rpartition("\n")[2], fsck.returncode == 0),
        Finding("memory use, last third relative to second", f"{growth:.2f}", growth <= MAX_GROWTH),
    ]


def _verify_rules(there: Deployment, clients: SoakClients) -> list[Finding]:
    """Compare each rule with the changes that were acknowledged: each must be made once."""
    expected = Counter(
        (
            name,
            pk,
            changes,
            clients.accounts[each.tag],
            f"{each.tag}: {name}",
            RULE_STATES[changes - 1],
        )
        for each in clients.rule_editors
        for name, (pk, changes) in each.acknowledged.items()
    )
    stored = Counter(_rows(there, RULES))
    differences = (expected - stored) + (stored - expected)
    return [
        Finding("rules acknowledged", f"{expected.total():,}", bool(expected)),
        expect_none("rules that differ from the acknowledged changes", differences.total()),
    ]


def count_pending_jobs(there: Deployment) -> int:
    """Return the number of unfinished deliveries."""
    return _count(there, PENDING)


def _count(there: Deployment, query: LiteralString) -> int:
    return int(_rows(there, query)[0][0])


def _rows(there: Deployment, query: LiteralString, *parameters: Any) -> list[tuple[Any, ...]]:
    url = embedded.database_url(there.home, "superuser")
    with psycopg.connect(url) as server:
        return server.execute(query, parameters or None).fetchall()
