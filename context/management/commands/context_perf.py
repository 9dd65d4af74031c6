"""manage.py context_perf: latency of context. Leaves no data behind."""

from functools import partial
from time import perf_counter, process_time
from typing import Any

from django.core.management.base import CommandParser
from django.core.paginator import Paginator

from context.actions.assemble import assemble_call
from context.actions.comparisons import (
    ComparisonRequest,
    run_comparison,
    start_comparison,
    summarise_comparison,
)
from context.actions.replays import NO_CHANGES, Changes
from context.assembly.stage_data import AssemblyRequest
from context.benchmarks import fixtures
from context.models import ContextCostReport, ReportQuerySet
from context.models.archives import ArchiveScope
from context.reports.costs import PARTS, Period, calculate_totals, list_buckets, list_parts
from context.reports.possible_savings import find_savings
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account
from kmapp.management.argument_types import parse_count
from kmapp.management.benchmark import BenchmarkCommand, temporary_account
from kmapp.text import token_counter

WINDOW = 200_000
CONVERSATIONS = 50  # conversations to replay
PAGE = 50


class Command(BenchmarkCommand):
    help = (
        "Measure assembly of a call with 200 messages, 100,000 tokens and 60 tools excluding "
        "retrieval (assemble), a replay of 1,000 such calls under another policy (replay), "
        "and the pages of many calls (pages). Uses a separate account and rolls back at the "
        "end."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        assembling = verbs.add_parser("assemble", help="p95 excluding retrieval")
        assembling.add_argument("--number", type=parse_count, default=200, help="number of calls")
        replaying = verbs.add_parser("replay", help="replay of calls under another policy")
        replaying.add_argument("--calls", type=int, default=1_000)
        pages = verbs.add_parser("pages", help="measure the pages of calls and costs")
        pages.add_argument("--calls", type=int, default=100_000)
        pages.add_argument(
            "--number", type=parse_count, default=20, help="number of requests per page"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        with temporary_account() as account:
            getattr(self, f"_{options['verb']}")(account, options)

    def _assemble(self, account: Account, options: dict[str, Any]) -> None:
        messages, tools = fixtures.conversation(), fixtures.tools()
        self.stdout.write(
            f"{len(messages)} messages, {fixtures.count_tokens(messages):,} tokens, "
            f"{len(tools)} tools"
        )

        def once(number_: int) -> dict[str, float]:
            """Assemble the conversation with another last question, as an agent does."""
            question = {"role": "user", "content": f"And the kiln {number_}?"}
            request = build_request(account, [*messages[:-1], question], "perf")
            started = perf_counter()
            timings = assemble_call(request).report["timings_ms"]
            total = 1000 * (perf_counter() - started)
            stages = {name: timings[name] for name in ("collect", "assemble")}
            record = total - timings["retrieve"] - sum(stages.values())
            return {**stages, "record": record, "all but retrieval": total - timings["retrieve"]}

        once(0)  # fills the caches
        started, number = process_time(), options["number"]
        results = [once(number_) for number_ in range(1, number + 1)]
        cpu_time = 1000 * (process_time() - started) / number
        self.stdout.write(f"processor time of a call, without the database's: {cpu_time:.1f} ms")
        for name in results[0]:
            self.write_timing(name, [stage_times[name] for stage_times in results])

    def _replay(self, account: Account, options: dict[str, Any]) -> None:
        """Replay conversations of 200 messages and 100,000 tokens, several calls each."""
        count = options["calls"]
        for number_ in range(count):
            messages = fixtures.conversation(seed=number_ % CONVERSATIONS)
            part = messages[: len(messages) - 4 * (number_ // CONVERSATIONS % 20)]
            assemble_call(build_request(account, part, f"perf-{number_ % CONVERSATIONS}"))
        right = Changes(policy={"head": 200, "tail": 0}, window=50_000, reserve=4_096)
        request = ComparisonRequest(left=NO_CHANGES, right=right, calls=count)
        comparison = start_comparison(account.pk, SYSTEM, request)
        token_counter.clear_cache()  # as in a worker that has not seen these calls
        started, busy = perf_counter(), process_time()
        run_comparison(account.pk, comparison.pk)
        elapsed, busy = perf_counter() - started, process_time() - busy
        results = summarise_comparison(comparison)
        self.stdout.write(
            f"{results.distribution.calls:,} calls replayed twice in {elapsed:.1f} s, {busy:.1f} "
            f"s CPU time; {results.changed:,} differ, {results.distribution.percent:.1f} % tokens"
        )

    def _pages(self, account: Account, options: dict[str, Any]) -> None:
        fixtures.fill_reports(account, options["calls"])
        rows = ContextCostReport.objects.of(account)
        for action in ("", "prune_tool_results", "auto_compact"):
            name = f"list of calls, {action or 'all'}"
            self.measure(name, partial(load_list, rows, action), options["number"])
        prices = {"small": {"input": 2, "cached": 0.5}}
        period = Period(account_id=account.pk, days=30, prices=prices)
        for by in PARTS:
            self.measure(f"costs by {by}", partial(load_costs, period, by), options["number"])
        period_totals = calculate_totals(period)
        self.measure("savings", partial(find_savings, period, period_totals), options["number"])


def build_request(account: Account, messages: list[Any], conversation_id: str) -> AssemblyRequest:
    return AssemblyRequest(
        account_id=account.pk,
        actor=SYSTEM,
        messages=messages,
        window=WINDOW,
        reserve=4_096,
        tools=fixtures.tools(),
        within=ArchiveScope(conversation_id=conversation_id),
    )


def load_list(calls: ReportQuerySet, action: str) -> None:
    rows = calls.filter(actions__contains=[action]) if action else calls
    list(calls.load_page(Paginator(rows.newest_first().ids(), PAGE).get_page(1).object_list))


def load_costs(period: Period, by: str) -> None:
    calculate_totals(period)
    results, _there = list_parts(period, by, limit=PAGE)
    list_buckets(period, by, [part.name for part in results])
