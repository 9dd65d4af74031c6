"""manage.py up: run all processes on this machine in the foreground."""

import json
import socket
import time
from contextlib import ExitStack
from pathlib import Path

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from kmapp.outbox import heartbeats
from kmapp.runtime import stack, tracing
from kmapp.runtime.private_files import replace_private_file
from kmapp.runtime.processes import CannotStart
from kmapp.runtime.supervisor import Stopped, Supervisor

GREETING = """
kmapp is ready after {seconds:.0f} s.

  Page      {url}/
  Account   {account}
  Login     {email}
  Password  {password}
  API key   {api_key}
  MCP       {mcp}
  Logs      {logs}

Store a first memory, then review it on the page:

  curl -s {url}/v1/memory/store -H 'Authorization: Bearer {api_key}' \\
    -H 'Content-Type: application/json' -d '{{"text": "The tea room opens at nine."}}'

Ctrl-C stops everything.
"""
BEHIND = """
WARNING: the database differs from the last signed checkpoint.

  {accounts}

An older copy of the database was put back, commits were deleted or replaced, or CHECKPOINT_FILE is
missing. These accounts are read-only. Run {command} fsck to see what is missing, and put the newest
copy of the database or CHECKPOINT_FILE back. If there is none, accept this state with
{command} accept_ledger.
"""
NOT_STORED = "(shown only once, when it was created)"
NO_OWNER = """\
DATABASE_URL is set and DATABASE_OWNER_URL is not. kmapp uses two roles of your server: one owns and
migrates the tables, one serves under row-level security. Choose both, then:

  export DATABASE_OWNER_URL=postgresql://kmapp_owner:PASSWORD@HOST:5432/kmapp
  export DATABASE_URL=postgresql://kmapp_app:PASSWORD@HOST:5432/kmapp
  {command} provision --url postgresql://SUPERUSER:PASSWORD@HOST:5432/postgres
"""


class Command(BaseCommand):
    help = "Run the product until Ctrl-C, with embedded services for all that are not configured."
    requires_system_checks = []

    def handle(self, **_: object) -> None:
        began = time.monotonic()
        supervisor = Supervisor(settings.DATA_DIR, self._write_line)
        try:
            with ExitStack() as self.resources, supervisor.supervising():
                behind = self._start(supervisor)
                self._write_greeting(time.monotonic() - began)
                if behind:
                    self._write_line(
                        BEHIND.format(accounts="\n  ".join(behind), command=settings.COMMAND)
                    )
                supervisor.watch(lambda: self._hand_over(supervisor))
        except Stopped:
            self._write_line("Stopped before everything had started.")
        except CannotStart as reason:
            raise CommandError(str(reason)) from reason

    def _start(self, supervisor: Supervisor) -> list[str]:
        """Start everything. Return the chains that end before their signed heads."""
        if "owner" not in settings.DATABASES:
            raise CannotStart(NO_OWNER.format(command=settings.COMMAND))
        if problem := tracing.find_problem():
            raise CannotStart(problem)
        stack.check_ports()
        self.resources.enter_context(stack.temporary_folders())
        self._write_line(f"Starting kmapp in {settings.DATA_DIR}")
        for stage in stack.list_parts():
            for part in stage:
                part.prepare()
            supervisor.start(*[part.program() for part in stage])
        prepared = json.loads(supervisor.run(stack.build_command("prepare")))
        _store_login(prepared["made"])
        heartbeats.delete_heartbeat("worker")
        self.programs = [stack.build_web(self._listen("PORT", settings.PORT)), stack.build_worker()]
        self.programs.append(stack.build_beat())
        if settings.MCP_PORT:
            self.programs.append(stack.build_mcp(self._listen("MCP_PORT", settings.MCP_PORT)))
        supervisor.start(*self.programs)
        supervisor.wait("health", stack.find_health_problem)
        supervisor.wait("worker", _find_worker_problem)
        behind: list[str] = prepared["behind"]
        return behind

    def _listen(self, variable: str, port: int) -> socket.socket:
        return self.resources.enter_context(stack.listen(variable, port))

    def _hand_over(self, supervisor: Supervisor) -> None:
        """Migrate, and replace the processes by the version that is installed now."""
        self._write_line("Replacing the processes by the installed version")
        supervisor.run(stack.build_command("prepare"))
        supervisor.replace(*map(stack.build_successor, self.programs))
        self._write_line("All processes run the installed version.")

    def _write_greeting(self, seconds: float) -> None:
        unknown = dict.fromkeys(("account", "email", "password", "api_key"), NOT_STORED)
        mcp = (
            f"{stack.build_url(settings.MCP_PORT)}/mcp" if settings.MCP_PORT else "(MCP_PORT is 0)"
        )
        logs = settings.DATA_DIR / "logs"
        facts = {"seconds": seconds, "url": stack.build_url(), "mcp": mcp, "logs": logs}
        self._write_line(GREETING.format(**unknown | _load_login() | facts))

    def _write_line(self, text: str) -> None:
        self.stdout.write(text)
        self.stdout.flush()


def _find_worker_problem() -> str:
    """Return why the worker is not healthy. It has no port, but sends heartbeats."""
    return "" if heartbeats.get_heartbeat_age("worker") is not None else "It shows no sign of life."


def _store_login(credentials: dict[str, str | None]) -> None:
    """Store credentials that are displayed only once, so that every start can repeat them."""
    if new := {name: value for name, value in credentials.items() if value}:
        stored = json.dumps(_load_login() | new, indent=1)
        replace_private_file(settings.DATA_DIR / "credentials.json", stored.encode())


def _load_login() -> dict[str, str]:
    path: Path = settings.DATA_DIR / "credentials.json"
    return dict(json.loads(path.read_text())) if path.exists() else {}
