"""The tables of search and write timings."""

from collections.abc import Mapping
from statistics import mean

from kmapp.management.benchmark import Times
from memory.benchmarks.search_timings import SearchTimes
from memory.benchmarks.timings import BenchFigures
from memory.benchmarks.write_timings import BATCH, CLIENTS, WriteTimes


def render_section(origin: str, sizes: Mapping[int, BenchFigures]) -> str:
    """Render the tables of all sizes; `origin` states where their figures come from."""
    lines = [
        "## Search and writes",
        "",
        f"{origin} Milliseconds, p50 / p95. Compare the ratios.",
        "",
        "Search. *Bare* is the index queries of a search, run by psycopg with the same values, not",
        "prepared; *search* is the whole search with the query's vector given; *ratio* compares",
        "their p50; *verified* is the same search with `verify_on_read`, and the median ratio of",
        "such pairs; *HTTP* includes the whole web stack in the same process; *nearest* is the",
        "mean share of the 10 and the 80 nearest vectors that a search gets, compared with an",
        "exhaustive scan.",
        "",
        "| memories | requested by | bare | search | ratio | verified | ratio | HTTP | nearest |",
        "| ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for size, figures in sizes.items():
        lines += [_search(size, each) for each in figures.searches]
    lines += [
        "",
        "These searches repeat each query for one viewer. The first search with a query, by a",
        "random user; *dated*: every third English query has a speaker and a year:",
        "",
        *(
            f"- with {size:,} memories: {_pair(each.fresh)}; dated {_pair(each.dated)}"
            for size, each in sizes.items()
        ),
        *("", "Add the time of embedding the query, unless it is cached:", ""),
        *(f"- with {size:,} memories: {_pair(each.embedding)}" for size, each in sizes.items()),
    ]
    lines += [
        "",
        "Writes, each with its commit, postings and outbox. *Bare* is one durable INSERT of the",
        f"same text; {CLIENTS} clients write single memories to one chain.",
        "",
        f"| memories | bare INSERT | one memory | per second | {CLIENTS} clients, per second "
        f"| batch of {BATCH} | per second |",
        "| ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    lines += [_write(size, each.writes) for size, each in sizes.items()]
    return "\n".join(lines) + "\n"


def _search(size: int, each: SearchTimes) -> str:
    search, verified = (Times(each.product.elapsed[verify]) for verify in (False, True))
    ratio = search.p50 / each.bare.p50
    cells = (
        *(f"{size:,}", each.viewer, _pair(each.bare), _pair(search), f"{ratio:.1f}"),
        *(_pair(verified), f"{each.product.ratio:.2f}", _pair(each.http)),
        " / ".join(f"{mean(shares):.3f}" for shares in zip(*each.nearest, strict=True)),
    )
    return f"| {' | '.join(cells)} |"


def _write(size: int, each: WriteTimes) -> str:
    single, batch = 1000 / each.single.p50, BATCH * 1000 / each.batch.p50
    cells = (
        *(f"{size:,}", _pair(each.bare), _pair(each.single), f"{single:,.0f}"),
        *(f"{each.concurrent_rate:,.0f}", _pair(each.batch), f"{batch:,.0f}"),
    )
    return f"| {' | '.join(cells)} |"


def _pair(times: Times) -> str:
    return f"{times.p50:.1f} / {times.p95:.1f}"
