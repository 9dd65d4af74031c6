"""The cost of `verify_on_read`: each search with and without it, in turns."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median

from kmapp.accounts.models import Account
from kmapp.search.query_vector import QueryVector
from memory.benchmarks.timings import VIEWERS, Bench, set_verification
from memory.retrieval.search import SearchRequest, search_with_vector

PAIRS = 5  # pairs of searches for each query, in alternating order


@dataclass
class Cost:
    """Milliseconds of the searches of one viewer, by whether they were verified."""

    elapsed: dict[bool, list[float]] = field(default_factory=lambda: {False: [], True: []})
    cpu: dict[bool, list[float]] = field(default_factory=lambda: {False: [], True: []})

    def __str__(self) -> str:
        before, after = (median(self.elapsed[verified]) for verified in (False, True))
        extra = median(self.cpu[True]) - median(self.cpu[False])
        return (
            f"{before:.2f} ms without, {after:.2f} ms with it: a ratio of {self.ratio:.3f}"
            f" (median of {len(self.elapsed[True]):,} pairs), {extra:.2f} ms of it in Python"
        )

    @property
    def ratio(self) -> float:
        """Return the median ratio of a pair, which other load of the machine affects least."""
        return median(b / a for a, b in zip(self.elapsed[False], self.elapsed[True], strict=True))


def measure_verify_cost(account: Account, number: int, report: Callable[[str], object]) -> float:
    """Report the cost for each kind of viewer; return the largest ratio."""
    bench, costs = Bench(account), dict[str, Cost]()
    for name, viewer in VIEWERS.items():
        cost = costs[name] = Cost()
        for text in bench.draw_queries(number):
            meaning = bench.draw_query_vector(text)
            request = SearchRequest(query=text, viewer=viewer)
            _search(account, request, meaning)
            for turn in range(PAIRS):
                for verified in (turn % 2 == 1, turn % 2 == 0):
                    set_verification(account, verified=verified)
                    _search(account, request, meaning)  # the first one after a change is slower
                    elapsed, cpu = _search(account, request, meaning)
                    cost.elapsed[verified].append(elapsed)
                    cost.cpu[verified].append(cpu)
        report(f"{name}: {cost}")
    set_verification(account, verified=False)
    return max(cost.ratio for cost in costs.values())


def _search(account: Account, request: SearchRequest, meaning: QueryVector) -> tuple[float, float]:
    """Search; return the milliseconds that passed, and those of this process."""
    elapsed, cpu = time.perf_counter(), time.process_time()
    search_with_vector(account.pk, request, meaning)
    return 1000 * (time.perf_counter() - elapsed), 1000 * (time.process_time() - cpu)
