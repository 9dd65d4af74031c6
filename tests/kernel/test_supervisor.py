"""The supervisor with real processes. It runs in a separate process, as under `manage.py up`."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kmapp.runtime import processes
from kmapp.runtime.embedded import postgres
from kmapp.runtime.processes import (
    CannotStart,
    Identity,
    Program,
    get_command,
    get_start_time,
    rotate_log,
    wait_until,
)
from kmapp.runtime.supervisor import Supervisor

PATIENCE = 60  # seconds
pytestmark = pytest.mark.timeout(2 * PATIENCE)

# Children write their name when they stop; `stubborn`, `patient` and `ledger` ignore SIGTERM.
DRIVER = """
import sys
from pathlib import Path
from kmapp.runtime.processes import Program
from kmapp.runtime.supervisor import Supervisor

data, *wanted = sys.argv[1:]
prepare = {
    "base": f'trap "echo base >> {data}/stopped; exit" TERM',
    "upper": f'trap "sleep 0.3; echo upper >> {data}/stopped; exit" TERM',
    "parent": f"sleep 1000 & echo $! > {data}/grandchild",
    "stubborn": "trap '' TERM",
    "patient": "trap '' TERM",
    "ledger": "trap '' TERM",
    "brief": "trap - TERM",
}
supervisor = Supervisor(Path(data), lambda text: print(text, flush=True))
with supervisor.supervising():
    for name in wanted:
        ready = Path(data, f"{name}.ready")
        ready.unlink(missing_ok=True)
        work = "sleep 0.2; exit 3" if name == "brief" else "while :; do sleep 0.05; done"
        script = f"{prepare[name]}; touch {ready}; {work}"
        supervisor.start(
            Program(
                name=name,
                argv=["/bin/sh", "-c", script],
                ready=ready.exists,
                grace=300 if name == "patient" else 1,
                holds_data=name == "ledger",
            )
        )
    print("up", flush=True)
    supervisor.watch(lambda: None)
"""


class Driver:
    """A supervisor process and its output."""

    def __init__(self, data: Path, *wanted: str) -> None:
        self.data = data
        self.process = subprocess.Popen(
            [sys.executable, "-c", DRIVER, str(data), *wanted],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.lines: list[str] = []

    def read_until(self, words: str) -> str:
        """Read until a line contains the words; the test's timeout ends a hang."""
        assert self.process.stdout
        for line in self.process.stdout:
            self.lines.append(line)
            if words in line:
                return line
        raise AssertionError(f"{words!r} never came:\n{''.join(self.lines)}")

    def child(self, name: str) -> Identity:
        recorded = json.loads((self.data / "up.pid").read_text())["children"]
        entry = next(entry for entry in recorded if entry["name"] == name)
        return Identity(entry["pid"], entry["started"])

    def end(self, *signals: signal.Signals) -> str:
        for number in signals:
            self.process.send_signal(number)
        rest = self.process.communicate(timeout=PATIENCE)[0]
        return "".join(self.lines) + rest


@pytest.fixture
def drive(tmp_path: Path) -> Iterator[Callable[..., Driver]]:
    drivers: list[Driver] = []

    def start(*wanted: str) -> Driver:
        drivers.append(Driver(tmp_path, *wanted))
        return drivers[-1]

    yield start
    for driver in drivers:
        driver.end(signal.SIGINT, signal.SIGINT)


def test_stops_programs_in_reverse_order(drive: Callable[..., Driver], tmp_path: Path) -> None:
    driver = drive("base", "upper")
    driver.read_until("up\n")
    children = [driver.child("base"), driver.child("upper")]
    driver.end(signal.SIGTERM)
    assert (tmp_path / "stopped").read_text().split() == ["upper", "base"]
    assert driver.process.returncode == 0
    assert not any(child.alive() for child in children)
    assert not (tmp_path / "up.pid").exists()


def test_holds_its_folder_and_restarts_a_program_that_exits(
    drive: Callable[..., Driver], tmp_path: Path
) -> None:
    with subprocess.Popen(["sleep", "1000"]) as stranger:
        entry = {"name": "web", "pid": stranger.pid, "started": "long ago"}
        entry |= {"stop_signal": signal.SIGKILL, "grace": 1}
        (tmp_path / "up.pid").write_text(json.dumps({"children": [entry]}))
        driver = drive("base")
        driver.read_until("up\n")
        assert stranger.poll() is None, "a process with the number of an earlier child"
        stranger.kill()
    with (
        pytest.raises(CannotStart, match=rf"already runs .*process {driver.process.pid}, since"),
        Supervisor(tmp_path, print).supervising(),
    ):
        pass
    first = driver.child("base")
    assert first.alive()
    os.kill(first.pid, signal.SIGKILL)
    assert "SIGKILL" in driver.read_until("base ended")
    assert wait_until(lambda: driver.child("base").pid != first.pid, PATIENCE)
    assert driver.child("base").alive()


def test_restart_delay_increases(drive: Callable[..., Driver]) -> None:
    driver = drive("brief")
    assert "(exit 3), starting it again in 1 s" in driver.read_until("brief ended")
    assert "(exit 3), starting it again in 2 s" in driver.read_until("brief ended")


def test_kills_orphaned_grandchildren_and_programs_after_the_grace_period(
    drive: Callable[..., Driver], tmp_path: Path
) -> None:
    driver = drive("parent", "stubborn")
    driver.read_until("up\n")
    grandchild = int((tmp_path / "grandchild").read_text())
    assert get_start_time(grandchild)
    child = driver.child("stubborn")
    assert "stubborn did not stop by itself" in driver.end(signal.SIGINT)
    assert not child.alive()
    assert wait_until(lambda: not get_start_time(grandchild), PATIENCE)


def test_second_interrupt_kills_programs_without_data(drive: Callable[..., Driver]) -> None:
    driver = drive("ledger", "patient")
    driver.read_until("up\n")
    ledger = driver.child("ledger")
    driver.process.send_signal(signal.SIGINT)
    driver.read_until("Stopping")
    driver.process.send_signal(signal.SIGINT)
    driver.read_until("stopped patient")
    assert float(driver.read_until("stopped ledger").split()[-2]) >= 1
    assert not ledger.alive()


def test_programs_of_a_killed_supervisor_end(drive: Callable[..., Driver], tmp_path: Path) -> None:
    driver = drive("base", "upper", "stubborn")
    driver.read_until("up\n")
    children, left = [driver.child("base"), driver.child("upper")], driver.child("stubborn")
    driver.end(signal.SIGKILL)
    if sys.platform == "linux":  # only Linux signals the death of a parent
        assert wait_until(lambda: not any(child.alive() for child in children), PATIENCE)
        assert sorted((tmp_path / "stopped").read_text().split()) == ["base", "upper"]
    assert left.alive()
    second = drive("base")
    second.read_until(f"ending stubborn of an earlier run (process {left.pid})")
    second.read_until("up\n")
    assert not left.alive()


def test_failed_program_is_reported_with_its_output(tmp_path: Path) -> None:
    supervisor = Supervisor(tmp_path, lambda _: None)
    program = Program(name="web", argv=["/bin/sh", "-c", "echo no table; exit 1"], ready=bool)
    with (
        pytest.raises(CannotStart, match=r"web did not start:\nno table"),
        supervisor.supervising(),
    ):
        supervisor.start(program)


def test_program_that_is_never_ready_has_its_own_patience(tmp_path: Path) -> None:
    """PostgreSQL may replay its log for longer than other programs may take to start."""
    assert postgres.RECOVERY_SECONDS > processes.PATIENCE
    supervisor = Supervisor(tmp_path, lambda _: None)
    program = Program(name="web", argv=["/bin/sleep", "1000"], ready=bool, patience=0.1)
    with pytest.raises(CannotStart, match="web did not start"), supervisor.supervising():
        supervisor.start(program)


def test_failed_step_reports_its_output(tmp_path: Path) -> None:
    supervisor = Supervisor(tmp_path, lambda _: None)
    with supervisor.supervising():
        done = supervisor.run(Program(name="echo", argv=["/bin/echo", "made"]))
        assert done == "made\n"
        failing = Program(name="migrate", argv=["/bin/sh", "-c", "echo why >&2; exit 1"])
        with pytest.raises(CannotStart, match=r"migrate failed:\nwhy"):
            supervisor.run(failing)


def test_command_of_another_program_may_be_no_utf8() -> None:
    """A stale lock file may contain the process id of any program."""
    command = [b"/bin/sh", b"-c", b"read line", b"\xff"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as other:
        assert wait_until(lambda: "read line" in get_command(other.pid), PATIENCE)
        other.kill()


def test_rotated_log_is_written_further(tmp_path: Path) -> None:
    log = tmp_path / "web.log"
    with log.open("a") as writer:
        writer.write("old\n")
        writer.flush()
        rotate_log(log, above=100)
        assert log.read_text() == "old\n"
        rotate_log(log, above=0)
        writer.write("new\n")
    assert log.read_text() == "new\n"
    assert log.with_name("web.log.1").read_text() == "old\n"


def test_program_that_ends_during_a_hand_over_is_started_again(tmp_path: Path) -> None:
    supervisor = Supervisor(tmp_path, lambda _: None)
    program = Program(name="web", argv=["/bin/sleep", "1000"], ready=lambda: True)
    with supervisor.supervising():
        supervisor.start(program)
        [child] = supervisor.children
        first = child.process

        def hand_over() -> None:
            """End the program during a wait, such as that for the migrations of a new release."""
            first.kill()
            first.wait()
            supervisor.wait("the web", lambda: "" if child.process is not first else "is down")
            raise OSError("No space left on device")

        supervisor._hand_over(hand_over)  # noqa: SLF001 - `watch` does not end
        assert child.running
        assert supervisor.last_hand_over.problem == "No space left on device"
