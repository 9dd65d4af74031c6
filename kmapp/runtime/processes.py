"""Processes: start, identity, end, and the supervisor's lock, pid file and logs. No Django."""

import fcntl
import http.client
import json
import os
import pwd
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

LAUNCH = Path(__file__).with_name("launcher.py")
TICK = 0.05  # seconds
PATIENCE = 60.0  # seconds until a program must be ready, unless it has its own patience


class CannotStart(Exception):
    """An error for the person at the terminal, without a traceback."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    name: str
    argv: Sequence[str]
    ready: Callable[[], bool] = lambda: True
    env: Mapping[str, str] = field(default_factory=dict)
    account: str = ""  # system account, if not our own; requires root
    nice: int = 0
    stop_signal: signal.Signals = signal.SIGTERM
    patience: float = PATIENCE
    grace: float = 10  # seconds from the stop signal to SIGKILL
    holds_data: bool = False  # has its whole grace even after a second Ctrl-C
    is_exclusive: bool = False  # stops before its successor starts
    descriptors: Sequence[int] = ()  # open files that it inherits, such as a listening socket


@dataclass(frozen=True, slots=True)
class Identity:
    """A process by pid and start time, because pids are reused."""

    pid: int
    started: str

    def alive(self) -> bool:
        return bool(self.started) and get_start_time(self.pid) == self.started

    def end(self, stop_signal: signal.Signals, grace: float) -> None:
        if not self.alive():
            return
        os.kill(self.pid, stop_signal)
        wait_until(lambda: not self.alive(), grace)
        _kill_group(self.pid)


def start(program: Program, log: Path, *, stdout: int | None = None) -> subprocess.Popen[bytes]:
    """Start a program in its own session, so that Ctrl-C reaches only this process."""
    order = {
        "argv": [str(word) for word in program.argv],
        "nice": program.nice,
        "account": get_account_ids(program.account) if program.account else None,
        "stop_signal": program.stop_signal,
        "parent": os.getpid(),
    }
    with log.open("ab") as output:
        return subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-I", "-S", str(LAUNCH), json.dumps(order)],
            env={**os.environ, **program.env},
            stdin=subprocess.DEVNULL,
            stdout=output if stdout is None else stdout,
            stderr=output,
            start_new_session=True,
            pass_fds=program.descriptors,
        )


def stop(process: subprocess.Popen[bytes], program: Program) -> None:
    """Signal the main process, which ends its children, then kill what is left of the session."""
    if process.poll() is None:
        process.send_signal(program.stop_signal)
    with suppress(subprocess.TimeoutExpired):
        process.wait(program.grace)
    kill_session(process)


def describe_ending(process: subprocess.Popen[bytes]) -> str:
    code = process.returncode
    return f"exit {code}" if code >= 0 else signal.Signals(-code).name


@contextmanager
def report_error(what: str, report: Callable[[str], None]) -> Iterator[None]:
    """Report an OSError, such as a full disk, and continue, because other programs run on."""
    try:
        yield
    except OSError as error:
        report(f"{what}: {error}")


def kill_session(process: subprocess.Popen[bytes]) -> None:
    _kill_group(process.pid)
    process.wait()


def _kill_group(leader: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)


def get_account_ids(name: str) -> tuple[int, int]:
    entry = pwd.getpwnam(name)
    return entry.pw_uid, entry.pw_gid


def wait_until(condition: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(TICK)
    return True


def http_get(
    host: str, port: int, path: str, *, seconds: float, headers: Mapping[str, str] | None = None
) -> tuple[int, bytes]:
    """Return status and body of a response. `seconds` is the timeout of each read."""
    connection = http.client.HTTPConnection(host, port, timeout=seconds)
    try:
        connection.request("GET", path, headers=headers or {})
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def get_command(pid: int) -> str:
    if not Path("/proc/self").exists():
        return _ps(pid, "args=")
    with suppress(OSError):
        command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ")
        return command.decode(errors="replace")
    return ""


def get_start_time(pid: int) -> str:
    """Return the start time of a process, unique across reboots, or "" if it has ended."""
    if not Path("/proc/self").exists():
        state, _, began = _ps(pid, "stat=,lstart=").partition(" ")
        return "" if state.startswith("Z") else began.strip()
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return "" if fields[0] in "ZX" else f"{boot}/{fields[19]}"


def _ps(pid: int, columns: str) -> str:
    """Return process information on macOS, which has no /proc."""
    answer = subprocess.run(  # noqa: S603 - no input of others
        ["/bin/ps", "-o", columns, "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return answer.stdout.strip()


@contextmanager
def lock(data_dir: Path) -> Iterator[None]:
    """Lock the data folder; the kernel releases the lock when the process ends."""
    with (data_dir / "up.lock").open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise CannotStart(
                f"kmapp already runs on {data_dir} ({file.read()})."
                " Stop it there with Ctrl-C, or set KMAPP_DATA_DIR to another folder."
            ) from None
        file.truncate(0)
        since = f"{datetime.now():%Y-%m-%d %H:%M}"  # noqa: DTZ005 - as this machine's clock shows
        file.write(f"process {os.getpid()}, since {since}")
        file.flush()
        yield


@dataclass(frozen=True, slots=True)
class HandOver:
    """The last replacement of all processes by their successors."""

    number: int = 0
    problem: str = ""


class PidFile:
    """The running processes with their start times, because pids are reused."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, running: Iterable[tuple[Program, int]], hand_over: HandOver) -> None:
        children = [
            {
                "name": program.name,
                "pid": pid,
                "started": get_start_time(pid),
                "stop_signal": program.stop_signal,
                "grace": program.grace,
            }
            for program, pid in running
        ]
        us = {"pid": os.getpid(), "started": get_start_time(os.getpid())}
        new = self.path.with_suffix(".new")
        content = {"supervisor": us, "children": children, "hand_over": asdict(hand_over)}
        with suppress(OSError):  # such as a full disk: the former file stays, the programs go on
            new.write_text(json.dumps(content, indent=1))
            new.replace(self.path)

    def supervisor(self) -> Identity | None:
        """Return the supervisor, if it runs."""
        if not (entry := self._load().get("supervisor")):
            return None
        identity = Identity(entry["pid"], entry["started"])
        return identity if identity.alive() else None

    def hand_over(self) -> HandOver | None:
        """Return the last hand-over, or None without a supervisor that can do one."""
        content = self._load()
        return HandOver(**content["hand_over"]) if "hand_over" in content else None

    def end_leftovers(self, report: Callable[[str], None]) -> None:
        """End the processes of a supervisor that was killed, last started first."""
        for entry in reversed(self._load().get("children", [])):
            left = Identity(entry["pid"], entry["started"])
            if left.alive():
                report(f"  ending {entry['name']} of an earlier run (process {left.pid})")
                left.end(signal.Signals(entry["stop_signal"]), entry["grace"])
        self.remove()

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)

    def _load(self) -> dict[str, Any]:
        """Return the content, which is lost if the power failed before it was on disk."""
        with suppress(FileNotFoundError, ValueError):
            content: dict[str, Any] = json.loads(self.path.read_text())
            return content
        return {}


def rotate_log(log: Path, *, above: int) -> None:
    """Copy a large log and empty it, because its writer continues to append to the same file.

    If there is no space for a copy, the log is not emptied.
    """
    if log.exists() and log.stat().st_size > above:
        copy = log.with_name(log.name + ".1")
        try:
            shutil.copyfile(log, copy)
        except OSError:
            with suppress(OSError):  # a part of it would occupy the space that is left
                copy.unlink()
            return
        os.truncate(log, 0)


def read_tail(log: Path, lines: int = 15) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])
