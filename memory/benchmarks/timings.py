"""Timings of embedding, searches and writes in one account."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from django.db import connections

from kmapp.accounts.models import Account
from kmapp.management.benchmark import Times
from memory.benchmarks.search_timings import VIEWERS, SearchBench, SearchTimes
from memory.benchmarks.write_timings import WriteTimes, measure_writes


@dataclass(frozen=True, kw_only=True)
class BenchFigures:
    """Timings of one account."""

    embedding: Times
    searches: Sequence[SearchTimes]
    fresh: Times  # see `SearchBench.measure_fresh_searches`
    dated: Times
    writes: WriteTimes


def run_bench(account: Account, number: int, report: Callable[[str], None]) -> BenchFigures:
    """Measure embedding, searching and writing in one account."""
    bench = SearchBench(account)
    report("embedding …")
    embedding = bench.measure_embedding(number)
    searches = []
    for name in VIEWERS:
        report(f"searching: {name} …")
        searches.append(bench.measure_searches(name, number))
    report("searching: each query once …")
    fresh = bench.measure_fresh_searches(number)
    dated = bench.measure_fresh_searches(number, dated=True)
    report("writing …")
    writes = measure_writes(account, bench.writer, number)
    with connections["owner"].cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS perf_scratch")
    return BenchFigures(
        embedding=embedding, searches=searches, fresh=fresh, dated=dated, writes=writes
    )
