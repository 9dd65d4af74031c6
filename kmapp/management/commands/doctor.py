"""manage.py doctor: check this installation and say what to do."""

import json
from collections import Counter
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from kmapp.management.doctor.registry import CheckLine, Level, run_checks

WIDTH = 24


class Command(BaseCommand):
    help = (
        "Check versions, settings, connections, disk, clock, database, backups and jobs. Each line "
        "says what is wrong and what to do; the exit code is 1 if there is an error."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, **options: Any) -> None:
        as_json, lines = options["json"], list[CheckLine]()
        for line in run_checks():
            lines.append(line)
            if not as_json:
                self._write_line(line)
        numbers = Counter(line.finding.level for line in lines)
        errors, warnings = numbers[Level.ERROR], numbers[Level.WARNING]
        if as_json:
            self._write_json(lines, errors, warnings)
        if errors:
            raise CommandError(f"Errors: {errors}, warnings: {warnings}.")
        if not as_json:
            self.stdout.write(f"No errors. Warnings: {warnings}.")

    def _write_line(self, line: CheckLine) -> None:
        level, message, remedy = line.finding.level, line.finding.message, line.finding.remedy
        self.stdout.write(f"{level:<9}{line.check:<{WIDTH}}{message}")
        if remedy:
            self.stdout.write(f"{'':<9}{'':<{WIDTH}}→ {remedy}")
        self.stdout.flush()

    def _write_json(self, lines: list[CheckLine], errors: int, warnings: int) -> None:
        findings = [{"check": line.check, **asdict(line.finding)} for line in lines]
        report = {"ok": not errors, "errors": errors, "warnings": warnings, "findings": findings}
        self.stdout.write(json.dumps(report, ensure_ascii=False))
