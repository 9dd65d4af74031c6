"""manage.py upgrade: replace the processes of a running `up` without interrupting requests."""

import os
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from kmapp.runtime.processes import PidFile, wait_until
from kmapp.runtime.supervisor import HAND_OVER

PATIENCE = 600.0  # seconds; migrations may wait for locks


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
        wait_until(lambda: not supervisor.alive() or pids.hand_over() != before, PATIENCE)
        after = pids.hand_over()
        if after is None or after == before:
            raise CommandError("kmapp ended, or did not finish: see its output.")
        if after.problem:
            raise CommandError(f"The hand-over failed. {after.problem}")
        self.stdout.write("All processes run the installed version.")
