"""manage.py perf: synthetic data, plans and figures."""

from argparse import ArgumentTypeError
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.management.account_lookup import get_account, list_all_accounts
from kmapp.management.argument_types import parse_count
from kmapp.management.benchmark import describe_origin, run_on_temporary_servers, write_section
from kmapp.management.confirmation import confirm
from kmapp.management.progress import Progress
from memory.benchmarks import (
    query_plans,
    signing_rounds,
    statement_times,
    timing_report,
    verify_on_read_cost,
)
from memory.benchmarks.checkpoint_write_overhead import measure_checkpoint_cost
from memory.benchmarks.embedding_jobs import measure_embedding_jobs
from memory.benchmarks.review_session import format_figures, measure_review_session
from memory.benchmarks.seed_accounts import PREFIX, SHARES, seed, slug_of
from memory.benchmarks.timings import run_bench
from memory.benchmarks.topic_quality import topic_quality_lines
from memory.models import MemoryEntry, Viewer

LARGE = 10_000  # number of memories from which no hot query may read a whole table


class Command(BaseCommand):
    help = "Seed synthetic memories, explain the hot queries, and measure search and writes."

    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        seeding = verbs.add_parser("seed", help=f"add synthetic entries to accounts {PREFIX}…")
        seeding.add_argument("number", type=int, help="number of entries in all accounts")
        seeding.add_argument(
            "--account-share", type=_shares, default=SHARES, help="percentages: 90,1,0.1"
        )
        explaining = verbs.add_parser("explain", help="print the plans of the hot queries")
        explaining.add_argument("--account", metavar="SLUG", help=f"default: all of {PREFIX}…")
        explaining.add_argument("--user", default="", help="search with this user_id")
        explaining.add_argument(
            "--only", default="", help="only queries whose name contains this text"
        )

        measuring = verbs.add_parser("bench", help="measure searching and writing")
        measuring.add_argument("--sizes", type=_sizes, default=(10_000, 100_000))
        measuring.add_argument(
            "--number", type=parse_count, default=300, help="number of searches of each kind"
        )
        timing = verbs.add_parser("statements", help="measure the statements of searches")
        timing.add_argument("--entries", type=int, default=10_000, help="number of memories")
        timing.add_argument("--number", type=parse_count, default=100, help="number of searches")
        timing.add_argument("--user", default="", help="search with this user_id")
        clearing = verbs.add_parser("review", help="measure a reviewer clearing the queue")
        clearing.add_argument(
            "--entries", type=int, default=50_000, help="number of other memories"
        )
        clearing.add_argument("--number", type=parse_count, default=300, help="number of decisions")
        signing = verbs.add_parser("checkpoints", help="measure writes with checkpoints")
        signing.add_argument(
            "--accounts", type=int, default=500, help="accounts with a new commit each"
        )
        verifying = verbs.add_parser("verify", help="measure searches with verify_on_read")
        verifying.add_argument("--entries", type=int, default=10_000, help="number of memories")
        verifying.add_argument("--number", type=parse_count, default=120, help="number of queries")
        embedding = verbs.add_parser("jobs", help="measure the jobs that follow new memories")
        embedding.add_argument("--entries", type=int, default=10_000, help="other memories")
        embedding.add_argument(
            "--number", type=parse_count, default=2_000, help="number of new memories"
        )
        for verb in (measuring, signing, verifying):
            verb.add_argument("--out", type=Path, help="write the figures to this page")
        for verb in (seeding, measuring, timing, clearing, signing, verifying, embedding):
            verb.add_argument("--yes", action="store_true", help="do not ask for confirmation")
        for verb in (measuring, timing, clearing, signing, verifying, embedding):
            verb.add_argument(
                "--here",
                action="store_true",
                help="use this installation instead of a temporary one",
            )
        verbs.add_parser("topics", help="measure topic quality on labelled sentences")

    def handle(self, *args: Any, **options: Any) -> None:
        if options.get("here") is False:
            run_on_temporary_servers()
        else:
            getattr(self, options["verb"])(**options)

    def seed(self, **options: Any) -> None:
        _confirm_if_needed(yes=options["yes"])
        progress = Progress("Entries", options["number"])
        seed(
            options["number"],
            options["account_share"],
            report_progress=progress.add,
            report_line=self.stderr.write,
        )
        progress.end()

    def topics(self, **options: Any) -> None:
        for line in topic_quality_lines():
            self.stdout.write(line)

    def bench(self, **options: Any) -> None:
        origin = describe_origin("perf bench")
        figures, filled = {}, 0
        whole: list[str] = []
        for size in options["sizes"]:
            self.seed(number=size - filled, account_share=SHARES, yes=options["yes"])
            filled = size
            account = get_account(slug_of(SHARES[0]))
            figures[size] = run_bench(account, options["number"], self.stderr.write)
            for share in SHARES if size >= LARGE else ():
                whole += query_plans.list_whole_table_reads(get_account(slug_of(share)), Viewer())
        self._publish(timing_report.render_section(origin, figures), options)
        if whole:
            raise CommandError("\n".join(whole))

    def statements(self, **options: Any) -> None:
        account, number = self._seed_large_account(options), options["number"]
        viewer = Viewer(user_id=options["user"])
        by_sender = statement_times.measure_statements(account, viewer, number)
        for line in statement_times.render_lines(by_sender, number):
            self.stdout.write(line)

    def review(self, **options: Any) -> None:
        result = measure_review_session(self._seed_large_account(options), options["number"])
        self.stdout.write(f"With {options['entries']:,} memories: {format_figures(result)}")

    def _seed_large_account(self, options: dict[str, Any]) -> Account:
        """Seed accounts, of which the returned one has about `entries` memories."""
        number = round(options["entries"] * 100 / SHARES[0])
        self.seed(number=number, account_share=SHARES, yes=options["yes"])
        return get_account(slug_of(SHARES[0]))

    def checkpoints(self, **options: Any) -> None:
        origin = describe_origin("perf checkpoints")
        self.seed(number=100, account_share=SHARES, yes=options["yes"])
        cost = measure_checkpoint_cost(get_account(slug_of(SHARES[0])))
        number = options["accounts"]
        self.stderr.write(f"signing the heads of {number:,} accounts …")
        seconds = signing_rounds.measure_signing_rounds(number)
        self._publish(signing_rounds.render_section(origin, cost, number, seconds), options)
        if not cost.is_on_target:
            raise CommandError(cost.describe_target())

    def verify(self, **options: Any) -> None:
        origin = describe_origin("perf verify")
        account = self._seed_large_account(options)
        costs = verify_on_read_cost.measure_verify_cost(
            account, options["number"], self.stderr.write
        )
        self._publish(
            verify_on_read_cost.render_section(origin, options["entries"], costs), options
        )
        if verify_on_read_cost.get_largest_ratio(costs) > verify_on_read_cost.TARGET:
            raise CommandError(verify_on_read_cost.describe_target(costs))

    def _publish(self, text: str, options: dict[str, Any]) -> None:
        """Print the figures of a verb, and write them to their section of a page."""
        if options["out"]:
            write_section(options["out"], f"perf {options['verb']}", text)
        self.stdout.write(text)

    def jobs(self, **options: Any) -> None:
        account = self._seed_large_account(options)
        for line in measure_embedding_jobs(account, options["number"]):
            self.stdout.write(line)

    def explain(self, **options: Any) -> None:
        slow = []
        for account in _list_selected_accounts(options["account"]):
            for statement in query_plans.collect_hot_statements(
                account, Viewer(user_id=options["user"])
            ):
                if options["only"] in statement.name:
                    slow += self._explain(account, statement)
        for statement in query_plans.build_claim_statements():
            if options["only"] in statement.name:
                self._show(statement.name, query_plans.explain(statement, owner=True))
        for name, table in slow:
            self.stderr.write(self.style.ERROR(f"{name} reads all of {table}"))

    def _explain(
        self, account: Account, statement: query_plans.CapturedStatement
    ) -> list[tuple[str, str]]:
        name = f"{account.slug}: {statement.name}"
        with acting(account):
            self._show(name, query_plans.explain(statement))
            whole = query_plans.filter_sequential_scans(query_plans.list_scans(statement))
        return [(name, table) for table in whole]

    def _show(self, name: str, plan: str) -> None:
        self.stdout.write(f"\n{self.style.MIGRATE_HEADING(name)}\n{plan}")


def _confirm_if_needed(*, yes: bool) -> None:
    """Ask for confirmation before seeding real data, which cannot be undone."""
    others = [account for account in list_all_accounts() if not account.slug.startswith(PREFIX)]
    used = 0
    for account in others:
        with acting(account):
            used += MemoryEntry.objects.of(account).count()
    question = (
        f"This installation has {used:,} other memories. Synthetic accounts cannot be deleted "
        "because ledgers are permanent, and the vector index may be rebuilt. Continue?"
    )
    if used and not yes and not confirm(question):
        raise CommandError("Nothing was changed.")


def _shares(text: str) -> tuple[float, ...]:
    shares = tuple(float(part) for part in text.split(","))
    if min(shares) <= 0 or sum(shares) > 100:  # noqa: PLR2004 - percent
        raise ArgumentTypeError("use percentages that add up to at most 100, for example 90,1,0.1")
    return shares


def _sizes(text: str) -> list[int]:
    return sorted(int(part) for part in text.split(","))


def _list_selected_accounts(slug: str | None) -> list[Account]:
    result = [a for a in list_all_accounts() if a.slug == slug or (not slug and PREFIX in a.slug)]
    if not result:
        raise CommandError(
            f"Account not found. Create synthetic accounts with: {settings.COMMAND} perf seed 10000"
        )
    return result
