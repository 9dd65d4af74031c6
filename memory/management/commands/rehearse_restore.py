"""manage.py rehearse_restore: restore a backup next to the live data, and compare."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from kmapp.database.backup import BackupError, rehearse
from kmapp.database.backup.archive_file import Contents
from kmapp.database.backup.restore import restore_backup
from kmapp.database.provision import CannotProvision
from kmapp.ledger.fsck import Findings
from kmapp.management.argument_types import parse_count
from kmapp.management.commands import backup
from kmapp.management.database_addresses import get_owner_address, get_server_url
from kmapp.management.progress import Progress
from kmapp.runtime import stack
from kmapp.runtime.processes import CannotStart
from memory.retrieval.restore_rehearsal_queries import (
    SampleResult,
    compute_overlap,
    load_questions,
    run_questions,
)

RECALLS = 100
LEEWAY = 0.05  # accepted loss of recall, because vector indexes are built at random


class Command(BaseCommand):
    help = (
        "Restore a backup into a scratch database of the same server, check it, compare it "
        "with the live database and drop it. Exit code 1 if they differ."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "file",
            type=Path,
            nargs="?",
            help=f"default: the newest in {settings.BACKUPS_DIR}, or a new one",
        )
        parser.add_argument(
            "--recalls",
            type=partial(parse_count, least=0),
            default=RECALLS,
            help="number of compared recalls",
        )
        parser.add_argument("--url", default="", help="superuser URL of the server; see provision")

    def handle(self, *, file: Path | None, recalls: int, url: str, **_: Any) -> None:
        self.wrong = 0
        try:
            with stack.database_server(), _backup(file) as path:
                self._rehearse(path, recalls, get_server_url(url))
        except (BackupError, CannotProvision, CannotStart) as reason:
            raise CommandError(str(reason)) from reason
        if self.wrong:
            raise CommandError(f"{self.wrong} of these checks failed.")
        self.stdout.write("All checks passed: this backup can be restored.")

    def _rehearse(self, path: Path, recalls: int, superuser_url: str) -> None:
        with rehearse.create_scratch_database(superuser_url) as name:
            progress, began = Progress("Kilobytes read"), time.monotonic()
            contents = restore_backup(
                path,
                get_owner_address() | {"dbname": name},
                report_progress=lambda size: progress.add(size // backup.KILOBYTE),
            )
            progress.end()
            self.stdout.write(f"{path}, created {contents.made_at} by kmapp {contents.kmapp}")
            self._report_check("restored", f"in {time.monotonic() - began:.1f} s", well=True)
            self._rows(contents, rehearse.load_restored_contents(name))
            self._fsck(rehearse.check_restored_database(path, name))
            comparison = rehearse.compare_heads(contents.heads)
            self._heads(comparison)
            with rehearse.use_database(name):
                sampled = load_questions(recalls)
                there = run_questions(sampled, is_exhaustive=True)
                overlap_restored = compute_overlap(
                    there, run_questions(sampled, is_exhaustive=False)
                )
            here = run_questions(sampled, is_exhaustive=True)
            self._recalls(comparison, there, here)
            self._index(
                overlap_restored, compute_overlap(here, run_questions(sampled, is_exhaustive=False))
            )

    def _rows(self, stated: Contents, actual: Contents) -> None:
        differ = [
            f"{table} {stated.rows.get(table, 0):,} → {actual.rows.get(table, 0):,}"
            for table in sorted({*stated.rows, *actual.rows})
            if stated.rows.get(table) != actual.rows.get(table)
        ]
        total = f"{sum(actual.rows.values()):,} in {len(actual.rows)} tables"
        self._report_check("rows", "; ".join(differ) or f"{total}, as counted", well=not differ)

    def _fsck(self, findings: Findings) -> None:
        for problem in findings.problems[:10]:
            self.stdout.write(f"  {problem}")
        stated = (
            f"{findings.commits:,} commits, {findings.rows:,} rows, {findings.versions:,} versions"
        )
        self._report_check("fsck", f"{stated}, {findings.found:,} problems", well=findings.ok)
        reached = not any(p.kind in ("cut", "rewritten", "account") for p in findings.problems)
        self._report_check(
            "checkpoints", f"{findings.checkpoints:,} signed, the last one reached", well=reached
        )

    def _heads(self, comparison: rehearse.HeadComparison) -> None:
        stated = (
            f"{len(comparison.equal)} equal, {len(comparison.ancestors)} ancestors of the live head"
        )
        if comparison.diverged:
            stated += f", {len(comparison.diverged)} on no live chain"
        self._report_check(
            "heads", f"of {comparison.heads} accounts {stated}", well=not comparison.diverged
        )

    def _recalls(
        self,
        comparison: rehearse.HeadComparison,
        there: Sequence[SampleResult],
        here: Sequence[SampleResult],
    ) -> None:
        """Check for equal results; in accounts with newer writes, each memory must find itself."""
        pairs = list(zip(there, here, strict=True))
        still = [(old, new) for old, new in pairs if old.question.account_id in comparison.equal]
        moved = [old for old, _ in pairs if old.question.account_id not in comparison.equal]
        equal = sum(old.results == new.results for old, new in still)
        stated = f"{equal} of {len(still)} equal"
        actual = sum(answer.finds_itself for answer in moved)
        if moved:
            stated += f"; where the live chain went on, {actual} of {len(moved)} found"
        self._report_check("recalls", stated, well=(equal, actual) == (len(still), len(moved)))

    def _index(self, there: float, here: float) -> None:
        stated = f"of vectors finds {there:.1%} of these, the live one {here:.1%}"
        self._report_check("index", stated, well=there >= here - LEEWAY)

    def _report_check(self, what: str, stated: str, *, well: bool) -> None:
        self.wrong += not well
        self.stdout.write(f"  {what:<12} {'ok' if well else 'NOT OK':<7} {stated}")


@contextmanager
def _backup(file: Path | None) -> Iterator[Path]:
    """Return the named backup, the newest one, or one created for the rehearsal."""
    backups = sorted(settings.BACKUPS_DIR.glob("*.zip"), key=lambda path: path.stat().st_mtime)
    if file or backups:
        yield file or backups[-1]
        return
    with TemporaryDirectory() as folder:
        path = Path(folder) / "rehearsal.zip"
        backup.create_backup(path)
        yield path
