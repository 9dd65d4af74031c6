"""Benchmark figures as Markdown tables."""

import os
import platform
from collections.abc import Mapping

from django.db import connection

from memory.benchmarks.product_bench import BATCH, Searching, Times, Writing

COMMAND = "make bench OUT=docs/benchmarks.md"


def page(sizes: Mapping[int, tuple[Times, list[Searching], Writing]]) -> str:
    """Tables for all sizes, with where they come from."""
    lines = [
        "# Benchmarks",
        "",
        f"Made by `{COMMAND}` on {_machine()}. Milliseconds, p50 / p95. Read the ratios.",
        "",
        "Searching. *Bare* is the two index queries of a search by psycopg alone, with the same",
        "values; *search* is the whole search once the query's vector is there; *ratio* is of",
        "their p50; *HTTP* goes through the whole web stack in the same process.",
        "",
        "| memories | asked by | bare | search | ratio | HTTP |",
        "| ---: | --- | ---: | ---: | ---: | ---: |",
    ]
    for size, (_, searches, _) in sizes.items():
        lines += [_search(size, each) for each in searches]
    lines += ["", "A query's embedding comes on top, unless it was asked lately:", ""]
    lines += [
        f"- beside {size:,} memories: {_pair(times)}" for size, (times, _, _) in sizes.items()
    ]
    lines += [
        "",
        "Writing, each with its commit, postings and outbox. *Bare* is one durable INSERT of the",
        "same text and nothing else.",
        "",
        f"| memories | bare INSERT | one memory | a second | batch of {BATCH} | a second |",
        "| ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    lines += [_write(size, writing) for size, (_, _, writing) in sizes.items()]
    return "\n".join(lines) + "\n"


def _search(size: int, each: Searching) -> str:
    ratio = each.product.p50 / each.bare.p50
    cells = (f"{size:,}", each.viewer, _pair(each.bare), _pair(each.product), f"{ratio:.1f}")
    return f"| {' | '.join(cells)} | {_pair(each.http)} |"


def _write(size: int, each: Writing) -> str:
    single, batch = 1000 / each.single.p50, BATCH * 1000 / each.batch.p50
    cells = (f"{size:,}", _pair(each.bare), _pair(each.single), f"{single:,.0f}")
    return f"| {' | '.join(cells)} | {_pair(each.batch)} | {batch:,.0f} |"


def _pair(times: Times) -> str:
    return f"{times.p50:.1f} / {times.p95:.1f}"


def _machine() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_version")
        [server] = cursor.fetchone()
    return f"{os.cpu_count()} cores of {platform.machine()}, PostgreSQL {server}"
