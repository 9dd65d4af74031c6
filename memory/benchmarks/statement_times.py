"""How long each statement of a search takes, by the function that sends it."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from statistics import median

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from memory.benchmarks.query_plans import (
    CapturedStatement,
    capture_statements,
    load_planning_time,
)
from memory.benchmarks.search_timings import SearchBench
from memory.models import Viewer
from memory.retrieval.search import SearchRequest, search_with_vector

WARM_UP = 10  # searches after which the server has chosen the plans of prepared statements
PlannedStatement = tuple[CapturedStatement, float]  # with the milliseconds of planning it


def measure_statements(
    account: Account, viewer: Viewer, number: int
) -> dict[str, list[PlannedStatement]]:
    """Return the statements of searches, each with another query, by sender in order of time.

    Planning is that of a statement that is not prepared.
    """
    bench = SearchBench(account)
    by_sender = defaultdict[str, list[PlannedStatement]](list)
    for turn, text in enumerate(bench.draw_queries(number + WARM_UP)):
        request, vector = SearchRequest(query=text, viewer=viewer), bench.draw_query_vector(text)
        with capture_statements() as statements:
            search_with_vector(account.pk, request, vector)
        if turn < WARM_UP:
            continue
        with acting(account):
            for each in statements:
                by_sender[each.name].append((each, load_planning_time(each)))
    return dict(by_sender)


def render_lines(by_sender: Mapping[str, Sequence[PlannedStatement]], number: int) -> Iterator[str]:
    """Render a table of the medians of each sender's statements in so many searches."""
    yield "| sender | a search | ms | of it planning | rows | bytes |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: |"
    for sender, planned in by_sender.items():
        statements = [statement for statement, _ in planned]
        cells = (
            *(sender, f"{len(planned) / number:.2f}"),
            f"{median(each.milliseconds for each in statements):.2f}",
            f"{median(planning for _, planning in planned):.2f}",
            f"{median(each.rows for each in statements):,.0f}",
            f"{median(each.size for each in statements):,.0f}",
        )
        yield f"| {' | '.join(cells)} |"
