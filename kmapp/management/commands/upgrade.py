"""manage.py upgrade: replace the processes of a running `up` without interrupting requests."""

import os
import time
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from kmapp.runtime.processes import PidFile, wait_until
from kmapp.runtime.supervisor import HAND_OVER

REPORT_SECONDS = 60.0  # between two reports: migrations and unfinished work may take long


class Command(BaseCommand):
    help = (
        "Migrate the database and replace web, worker, beat and MCP by the installed version while "
        "`up` runs. Requests are not interrupted; if a new process fails, the old ones stay."
    )
    requires_system_checks = []

    def handle(self, **_: Any) -> None:
        pids = PidFile(settings.DATA_DIR / "up.pid")
        supervisor, before = pids.supervisor(), pids.hand_over()
        if supervisor is None or before is None:
            raise CommandError(
                f"No kmapp that can be upgraded while it runs uses {settings.DATA_DIR}. Stop it and"
                " start it again."
            )
        os.kill(supervisor.pid, HAND_OVER)
        began = time.monotonic()
        while not wait_until(
            lambda: not supervisor.alive() or pids.hand_over() != before, REPORT_SECONDS
        ):
            seconds = time.monotonic() - began
            self.stdout.write(f"  The hand-over is not finished after {seconds:.0f} s.")
            self.stdout.flush()
        after = pids.hand_over()
        if after is None or after == before:
            raise CommandError("kmapp ended during the hand-over: see its output.")
        if after.problem:
            raise CommandError(f"The hand-over failed. {after.problem}")
        self.stdout.write("All processes run the installed version.")
