"""The cost of `verify_on_read`: the same search with and without it, in pairs."""

from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median, quantiles
from time import perf_counter, process_time

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account

PAIRS = 5  # pairs of searches for each query
HEADINGS = (
    "| searched | pairs | without | verified | ratio | of it in Python |",
    "| --- | ---: | ---: | ---: | ---: | ---: |",
)


@dataclass
class VerificationCost:
    """Milliseconds of searches, by whether they were verified; equal places are a pair."""

    elapsed: dict[bool, list[float]] = field(default_factory=lambda: {False: [], True: []})
    cpu: dict[bool, list[float]] = field(default_factory=lambda: {False: [], True: []})

    def measure_pairs(self, account: Account, search: Callable[[], object]) -> None:
        """Time PAIRS pairs of a search, after a first one that fills the caches."""
        search()
        for _pair in range(PAIRS):
            self.measure_pair(account, search)

    def measure_pair(self, account: Account, search: Callable[[], object]) -> None:
        """Time one search with and one without verification, which of them first in turn.

        The first search after a change of the account is not timed: it is slower, because a search
        of memories reads the seals in the statement of the rows only from the second one on. The
        account is left as the last search needed it.
        """
        turn = len(self.elapsed[True])
        for verified in (turn % 2 == 1, turn % 2 == 0):
            set_verification(account, verified=verified)
            search()
            began, cpu_began = perf_counter(), process_time()
            search()
            self.elapsed[verified].append(1000 * (perf_counter() - began))
            self.cpu[verified].append(1000 * (process_time() - cpu_began))

    @property
    def ratio(self) -> float:
        """Return the median ratio of a pair, which other load of the machine affects least."""
        return median(b / a for a, b in zip(self.elapsed[False], self.elapsed[True], strict=True))

    @property
    def cpu_cost(self) -> float:
        """Return the milliseconds of this process that verification adds to a search."""
        return median(self.cpu[True]) - median(self.cpu[False])

    def render_row(self, name: str) -> str:
        """Return a row of the table with `HEADINGS`."""
        times = [_format_quantiles(self.elapsed[verified]) for verified in (False, True)]
        cells = (
            *(name, f"{len(self.elapsed[True]):,}", *times),
            *(f"{self.ratio:.3f}", f"{self.cpu_cost:.2f}"),
        )
        return f"| {' | '.join(cells)} |"


def set_verification(account: Account, *, verified: bool) -> None:
    with acting(account):
        Account.objects.filter(pk=account.pk).update(verify_on_read=verified)


def _format_quantiles(times: list[float]) -> str:
    percentiles = quantiles(times, n=100, method="inclusive")
    return f"{percentiles[49]:.1f} / {percentiles[94]:.1f}"
