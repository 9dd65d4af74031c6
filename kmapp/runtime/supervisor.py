"""Supervisor of a set of processes with ordered start and stop. No Django."""

import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from pathlib import Path
from types import FrameType

from kmapp.runtime import processes
from kmapp.runtime.processes import CannotStart, HandOver, PidFile, Program, read_tail, rotate_log

STABLE_SECONDS = 60  # after this time, earlier failures of a program do not count
MAX_PAUSE = 30
LOG_BYTES = 32 * 1024 * 1024
LOG_CHECK_SECONDS = 60
HAND_OVER = signal.SIGUSR2
# Seconds for successors to become ready, and for predecessors to finish their work. Other processes
# serve requests meanwhile.
HAND_OVER_PATIENCE = 300.0


class Stopped(Exception):
    """A signal to stop arrived during the start."""


@dataclass
class Child:
    program: Program
    stage: int
    log: Path
    process: subprocess.Popen[bytes]
    began: float
    failures: int = 0
    due: float | None = None  # time of the restart, while it is down

    @property
    def running(self) -> bool:
        return self.process.poll() is None


class Supervisor:
    """Starts and watches programs inside `with self.supervising():`, which stops them at exit."""

    def __init__(self, data_dir: Path, report: Callable[[str], None]) -> None:
        self.data_dir = data_dir
        self.logs = data_dir / "logs"
        self.pids = PidFile(data_dir / "up.pid")
        self.report = report
        self.children: list[Child] = []
        self.watched: list[Child] = []  # during a hand-over: the programs that ran before it
        self.stopping = False
        self.skips_grace = False
        self.hand_over_requested = False
        self.last_hand_over = HandOver()

    @contextmanager
    def supervising(self) -> Iterator[None]:
        """Lock the data folder and end leftover processes of an earlier run."""
        self.logs.mkdir(mode=0o700, parents=True, exist_ok=True)
        with processes.lock(self.data_dir), self._handling_signals():
            self.pids.end_leftovers(self.report)
            try:
                yield
            finally:
                self._stop_all()
                self.pids.remove()

    def start(self, *programs: Program) -> None:
        """Start programs in parallel and wait for all of them. They are also stopped together."""
        began = time.monotonic()
        stage = self.children[-1].stage + 1 if self.children else 0
        waiting = []
        for program in programs:
            log = self._open_log(program)
            child = Child(program, stage, log, processes.start(program, log), began)
            waiting.append(child)
            self.children.append(child)
            self._write_pids()
        self._wait_until_ready(waiting, began)
        self._report_duration(", ".join(program.name for program in programs), began)

    def replace(self, *programs: Program) -> None:
        """Start successors of running programs; when all are ready, their predecessors stop.

        If one does not start, all predecessors stay. Inherited sockets are shared meanwhile, so
        that no connection is refused.
        """
        began = time.monotonic()
        pairs = [(self._get_child(program.name), program) for program in programs]
        shared = [(old, program) for old, program in pairs if not program.is_exclusive]
        successors: list[Child] = []
        try:
            for old, program in shared:
                position = self.children.index(old) + 1
                successors.append(self._start_successor(old, program, position))
            self._wait_until_ready(successors, began, HAND_OVER_PATIENCE)
        except (CannotStart, OSError, Stopped):
            self._retire(successors)
            raise
        self._retire([old for old, _ in shared], HAND_OVER_PATIENCE)
        for old, program in pairs:
            if program.is_exclusive:
                self._stop_stage([old])
                old.program, old.due = program, 0.0  # if it does not start now, `watch` tries again
                self._restart_if_ended(old)
                self._wait_until_ready([old], time.monotonic())
        self._report_duration("replaced " + ", ".join(program.name for program in programs), began)

    def _get_child(self, name: str) -> Child:
        return next(child for child in self.children if child.program.name == name)

    def _start_successor(self, old: Child, program: Program, position: int) -> Child:
        process = processes.start(program, old.log)
        child = Child(program, old.stage, old.log, process, time.monotonic())
        self.children.insert(position, child)
        self._write_pids()
        return child

    def _retire(self, children: list[Child], patience: float = 0) -> None:
        """Stop programs permanently. The others are still restarted if they end."""
        self._stop_stage(children, patience)
        self.children = [child for child in self.children if child not in children]
        self._write_pids()

    def _wait_until_ready(
        self, waiting: Sequence[Child], began: float, patience: float = 0
    ) -> None:
        """Wait until programs are ready, for their own patience, or for `patience` if longer."""
        report_due = processes.PATIENCE
        while waiting := [child for child in waiting if not child.program.ready()]:
            seconds = time.monotonic() - began
            for late in waiting:
                if not late.running or seconds > max(late.program.patience, patience):
                    raise CannotStart(f"{late.program.name} did not start:\n{read_tail(late.log)}")
            if seconds > report_due:
                report_due += processes.PATIENCE
                self.report(f"  {waiting[0].program.name} is not ready yet; see {waiting[0].log}")
            self._pause()

    def run(self, program: Program) -> str:
        began = time.monotonic()
        log = self._open_log(program)
        process = processes.start(program, log, stdout=subprocess.PIPE)
        try:
            printed = self._read_output(process)
        finally:
            processes.stop(process, program)
        if process.returncode:
            raise CannotStart(f"{program.name} failed:\n{printed}{read_tail(log)}")
        self._report_duration(program.name, began)
        return printed

    def wait(self, what: str, find_problem: Callable[[], str]) -> None:
        """Wait until `find_problem` returns an empty string."""
        began = time.monotonic()
        while problem := find_problem():
            if time.monotonic() - began > processes.PATIENCE:
                raise CannotStart(f"{what}: {problem}\nSee {self.logs}.")
            self._pause()
        self._report_duration(what, began)

    def watch(self, hand_over: Callable[[], None]) -> None:
        """Restart programs that end. `hand_over` replaces them when a signal requests it."""
        logs_due = 0.0
        while not self.stopping:
            if self.hand_over_requested:
                with suppress(Stopped):
                    self._hand_over(hand_over)
            self._restart_ended(self.children)
            if time.monotonic() > logs_due:
                logs_due = time.monotonic() + LOG_CHECK_SECONDS
                for child in self.children:
                    rotate_log(child.log, above=LOG_BYTES)
            time.sleep(4 * processes.TICK)

    def _hand_over(self, hand_over: Callable[[], None]) -> None:
        self.hand_over_requested = False
        problem = ""
        self.watched = list(self.children)
        try:
            hand_over()
        except (CannotStart, OSError) as reason:  # for example a full disk
            problem = str(reason)
            self.report(f"The hand-over failed. {problem}")
        finally:
            self.watched = []
        self.last_hand_over = HandOver(self.last_hand_over.number + 1, problem)
        self._write_pids()

    def _restart_ended(self, children: Iterable[Child]) -> None:
        for child in children:
            self._restart_if_ended(child)

    def _restart_if_ended(self, child: Child) -> None:
        now = time.monotonic()
        if child.due is None and not child.running:
            processes.kill_session(child.process)
            child.failures = 1 if now - child.began > STABLE_SECONDS else child.failures + 1
            pause = min(2 ** (child.failures - 1), MAX_PAUSE)
            child.due = now + pause
            clock = f"{datetime.now():%H:%M:%S}"  # noqa: DTZ005 - local time
            ending = processes.describe_ending(child.process)
            self.report(
                f"{clock} {child.program.name} ended ({ending}), starting it again in {pause} s;"
                f" see {child.log}"
            )
        elif child.due is not None and now >= child.due:
            child.due = now + MAX_PAUSE  # if it does not start, for example without free memory
            with processes.report_error(child.program.name, self.report):
                child.process = processes.start(child.program, child.log)
                child.began, child.due = now, None
            self._write_pids()

    def _stop_all(self) -> None:
        """Stop one stage after the other, last started first; inside a stage all at once."""
        self.stopping = True
        if self.children:
            self.report("\nStopping. A second Ctrl-C does not wait for unfinished work.")
        for _, stage in groupby(reversed(self.children), key=lambda child: child.stage):
            self._stop_stage(list(stage))
        self.children.clear()

    def _stop_stage(self, stage: list[Child], patience: float = 0) -> None:
        """Signal the main processes, which end their own children.

        They have their grace, or `patience` if it is longer and the supervisor is not stopping.
        """
        began = time.monotonic()
        for child in stage:
            if child.running:
                child.process.send_signal(child.program.stop_signal)
        while running := [child for child in stage if child.running]:
            self._kill_late(running, began, patience)
            if not self.stopping:
                self._restart_ended(child for child in self.children if child not in stage)
            time.sleep(processes.TICK)
        for child in stage:
            processes.kill_session(child.process)
        self._report_duration("stopped " + ", ".join(child.program.name for child in stage), began)

    def _kill_late(self, running: list[Child], began: float, patience: float) -> None:
        for child in running:
            grace = max(child.program.grace, 0 if self.stopping else patience)
            skips_grace = self.skips_grace and not child.program.holds_data
            if skips_grace or time.monotonic() - began > grace:
                self.report(f"  {child.program.name} did not stop by itself and is killed")
                processes.kill_session(child.process)

    def _read_output(self, process: subprocess.Popen[bytes]) -> str:
        while True:
            try:
                return process.communicate(timeout=processes.TICK)[0].decode()
            except subprocess.TimeoutExpired:
                self._pause()

    def _open_log(self, program: Program) -> Path:
        log = self.logs / f"{program.name}.log"
        rotate_log(log, above=0)
        return log

    def _write_pids(self) -> None:
        running = ((child.program, child.process.pid) for child in self.children)
        self.pids.write(running, self.last_hand_over)

    @contextmanager
    def _handling_signals(self) -> Iterator[None]:
        stop_signals = [signal.SIGINT, signal.SIGTERM]
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # ignored under nohup
            stop_signals.append(signal.SIGHUP)
        before = {number: signal.signal(number, self._on_signal) for number in stop_signals}
        before[HAND_OVER] = signal.signal(HAND_OVER, self._on_hand_over_signal)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        self.skips_grace = self.skips_grace or (self.stopping and number == signal.SIGINT)
        self.stopping = True

    def _on_hand_over_signal(self, _number: int, _frame: FrameType | None) -> None:
        self.hand_over_requested = True

    def _pause(self) -> None:
        if self.stopping:
            raise Stopped
        self._restart_ended(child for child in self.watched if child in self.children)
        time.sleep(processes.TICK)

    def _report_duration(self, what: str, began: float) -> None:
        self.report(f"  {what:<40}{time.monotonic() - began:6.1f} s")
