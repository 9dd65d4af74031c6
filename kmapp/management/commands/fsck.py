"""manage.py fsck: verify the ledger and all tables against what was sealed."""

import json
from dataclasses import asdict
from pathlib import Path
from time import perf_counter
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from kmapp.ledger.fsck import Findings, Options, check
from kmapp.management.account_lookup import get_account
from kmapp.runtime import env


class Command(BaseCommand):
    help = "Check chains, checkpoints, live rows, versions, vectors, postings and references."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--account", metavar="SLUG", help="default: all accounts")
        parser.add_argument("--checkpoints", type=Path, help="default: the file of the settings")
        parser.add_argument(
            "--public-key",
            type=Path,
            action="append",
            metavar="PEM",
            help="trusted public keys; default: the file next to the private key",
        )
        parser.add_argument("--chain-only", action="store_true", help="skip the check of rows")
        parser.add_argument(
            "--limit",
            type=int,
            default=1000,
            help="maximum number of problems shown; default: 1000",
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        key = settings.CHECKPOINT_KEY_FILE
        started = perf_counter()
        findings = check(
            Options(
                address=env.address(settings.DATABASES["default"]),
                checkpoints=options["checkpoints"] or settings.CHECKPOINT_FILE,
                public_keys=options["public_key"] or [key.with_name(key.name + ".pub")],
                accounts=[str(get_account(options["account"]).pk)] if options["account"] else [],
                chain_only=options["chain_only"],
                limit=options["limit"],
            )
        )
        seconds = perf_counter() - started
        if options["json"]:
            report = {**asdict(findings), "ok": findings.ok, "seconds": round(seconds, 2)}
            self.stdout.write(json.dumps(report, ensure_ascii=False))
        else:
            self._write_text(findings, seconds)
        if not findings.ok:
            raise CommandError(f"{findings.found:,} problems found.")

    def _write_text(self, findings: Findings, seconds: float) -> None:
        for problem in findings.problems:
            self.stdout.write(str(problem))
        if findings.found > len(findings.problems):
            self.stdout.write(f"… and {findings.found - len(findings.problems):,} more")
        for note in findings.notes:
            self.stdout.write(f"note: {note}")
        self.stdout.write(
            f"{findings.accounts:,} accounts, {findings.commits:,} commits, {findings.rows:,} rows,"
            f" {findings.versions:,} versions and {findings.checkpoints:,} checkpoints"
            f" in {seconds:.1f} s: {'all as sealed' if findings.ok else 'NOT as sealed'}"
        )
