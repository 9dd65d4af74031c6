"""The cost of `verify_on_read`: each search with and without it, in turns."""

from collections.abc import Callable, Mapping
from functools import partial

from kmapp.accounts.models import Account
from kmapp.management.verification_cost import HEADINGS, VerificationCost, set_verification
from memory.benchmarks.search_timings import VIEWERS, SearchBench
from memory.retrieval.search import SearchRequest, search_with_vector

TARGET = 1.10  # of the largest ratio


def measure_verify_cost(
    account: Account, number: int, report: Callable[[str], object]
) -> dict[str, VerificationCost]:
    """Measure the cost for each kind of viewer with `number` queries."""
    bench, costs = SearchBench(account), dict[str, VerificationCost]()
    for name, viewer in VIEWERS.items():
        report(f"searching: {name} …")
        cost = costs[name] = VerificationCost()
        for text in bench.draw_queries(number):
            request = SearchRequest(query=text, viewer=viewer)
            meaning = bench.draw_query_vector(text)
            cost.measure_pairs(account, partial(search_with_vector, account.pk, request, meaning))
    set_verification(account, verified=False)
    return costs


def get_largest_ratio(costs: Mapping[str, VerificationCost]) -> float:
    return max(cost.ratio for cost in costs.values())


def describe_target(costs: Mapping[str, VerificationCost]) -> str:
    """State whether the target holds."""
    largest = get_largest_ratio(costs)
    verdict = "holds" if largest <= TARGET else "is missed"
    return f"The target, at most {TARGET:.2f}, {verdict}: the largest ratio is {largest:.3f}."


def render_section(origin: str, size: int, costs: Mapping[str, VerificationCost]) -> str:
    """Render the table of the page of benchmarks; `origin` states where its figures come from."""
    lines = [
        "## Verification on read",
        "",
        f"{origin} Milliseconds, p50 / p95.",
        "",
        "The same search with and without `verify_on_read`, in turns; *ratio* is the median ratio",
        f"of the two searches of a pair. {describe_target(costs)}",
        "",
        *HEADINGS,
    ]
    lines += [cost.render_row(f"{size:,} memories, by {name}") for name, cost in costs.items()]
    return "\n".join(lines) + "\n"
