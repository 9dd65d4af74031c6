"""manage.py context_perf: how long context takes. Leaves nothing behind."""

import statistics
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from time import perf_counter, process_time
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.core.paginator import Paginator
from django.db import transaction

from context.actions.assemble import PIPELINE
from context.actions.comparisons import Wished, run, start, summary
from context.actions.replays import AS_IT_WAS, Changes
from context.assembly.stages import Request
from context.benchmarks import fixtures
from context.models import ContextCostReport, ReportQuerySet
from context.models.archives import Within
from context.reports.costs import PARTS, Period, by_day, parts, totals
from context.reports.savings import savings
from kmapp.accounts.acting import acting
from kmapp.accounts.actions import create_account
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account
from kmapp.text import tokens

WINDOW = 200_000
CONVERSATIONS = 50  # that calls are made again of
PAGE = 50


class Command(BaseCommand):
    help = (
        "Measures what assembling a call of 200 messages, 100,000 tokens and 60 tools takes beside "
        "retrieval (assemble), 1,000 of them made again under another policy (replay), and the "
        "pages of many calls (pages). In an account of its own, "
        "undone after."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        assembling = verbs.add_parser("assemble", help="p95 beside retrieval")
        assembling.add_argument("--number", type=int, default=200, help="of calls")
        replaying = verbs.add_parser("replay", help="calls made again under another policy")
        replaying.add_argument("--calls", type=int, default=1_000)
        pages = verbs.add_parser("pages", help="the list of calls and their costs")
        pages.add_argument("--calls", type=int, default=100_000)
        pages.add_argument("--number", type=int, default=20, help="of each page")

    def handle(self, *args: Any, **options: Any) -> None:
        with undone() as account:
            getattr(self, f"_{options['verb']}")(account, options)

    def _assemble(self, account: Account, options: dict[str, Any]) -> None:
        messages, tools = fixtures.conversation(), fixtures.tools()
        self.stdout.write(
            f"{len(messages)} messages, {fixtures.size_of(messages):,} tokens, {len(tools)} tools"
        )

        def once(at: int) -> dict[str, float]:
            """The conversation with another last question, as an agent's loop sends it."""
            asked = [*messages[:-1], {"role": "user", "content": f"And the kiln {at}?"}]
            request = Request(
                account_id=account.pk,
                actor=SYSTEM,
                messages=asked,
                window=WINDOW,
                reserve=4_096,
                tools=tools,
                within=Within(conversation_id="perf"),
            )
            started = perf_counter()
            timings = PIPELINE.run(request).recorded.report["timings_ms"]
            whole = 1000 * (perf_counter() - started)
            known = {name: timings[name] for name in ("collect", "assemble")}
            record = whole - timings["retrieve"] - sum(known.values())
            return {**known, "record": record, "all but retrieval": whole - timings["retrieve"]}

        once(0)  # what is counted once is counted
        started, number = process_time(), options["number"]
        found = [once(at) for at in range(1, number + 1)]
        taken = 1000 * (process_time() - started) / number
        self.stdout.write(f"processor time of a call, without the database's: {taken:.1f} ms")
        for name in found[0]:
            self.tell(name, [each[name] for each in found])

    def _replay(self, account: Account, options: dict[str, Any]) -> None:
        """Conversations of 200 messages and 100,000 tokens, each read in several calls."""
        asked = options["calls"]
        for at in range(asked):
            messages = fixtures.conversation(seed=at % CONVERSATIONS)
            PIPELINE.run(
                Request(
                    account_id=account.pk,
                    actor=SYSTEM,
                    messages=messages[: len(messages) - 4 * (at // CONVERSATIONS % 20)],
                    window=WINDOW,
                    reserve=4_096,
                    tools=fixtures.tools(),
                    within=Within(conversation_id=f"perf-{at % CONVERSATIONS}"),
                )
            )
        right = Changes(policy={"head": 200, "tail": 0}, window=50_000, reserve=4_096)
        wished = Wished(left=AS_IT_WAS, right=right, calls=asked)
        comparison = start(account.pk, SYSTEM, wished)
        tokens.forget()  # a worker that has seen none of these calls
        started, busy = perf_counter(), process_time()
        run(account.pk, comparison.pk)
        taken, busy = perf_counter() - started, process_time() - busy
        found = summary(comparison)
        self.stdout.write(
            f"{found.distribution.calls:,} calls made again twice in {taken:.1f} s, "
            f"{busy:.1f} s of the processor; "
            f"{found.changed:,} differ, {found.distribution.percent:.1f} % tokens"
        )

    def _pages(self, account: Account, options: dict[str, Any]) -> None:
        fixtures.fill_reports(account, options["calls"])
        rows = ContextCostReport.objects.of(account)
        for action in ("", "prune_tool_results", "auto_compact"):
            name = f"list of calls, {action or 'all'}"
            self.measure(name, partial(listed, rows, action), options["number"])
        prices = {"small": {"input": 2, "cached": 0.5}}
        period = Period(account_id=account.pk, days=30, prices=prices)
        for by in PARTS:
            self.measure(f"costs by {by}", partial(costs, period, by), options["number"])
        whole = totals(period)
        self.measure("savings", partial(savings, period, whole), options["number"])

    def measure(self, name: str, work: Callable[[], object], number: int) -> None:
        times = []
        for _ in range(number):
            started = perf_counter()
            work()
            times.append(1000 * (perf_counter() - started))
        self.tell(name, times)

    def tell(self, name: str, times: list[float]) -> None:
        p95 = sorted(times)[int(0.95 * len(times))]
        self.stdout.write(f"{name}: median {statistics.median(times):.1f} ms, p95 {p95:.1f} ms")


def listed(calls: ReportQuerySet, action: str) -> None:
    rows = calls.filter(actions__contains=[action]) if action else calls
    list(calls.these(Paginator(rows.newest_first().ids(), PAGE).get_page(1).object_list))


def costs(period: Period, by: str) -> None:
    totals(period)
    found, _there = parts(period, by, limit=PAGE)
    by_day(period, by, [part.name for part in found])


@contextmanager
def undone() -> Iterator[Account]:
    """An account that is never committed."""
    with transaction.atomic():
        account = create_account(name="context perf")
        with acting(account):
            yield account
        transaction.set_rollback(True)
