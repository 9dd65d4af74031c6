"""The supervisor when the disk is full or there is no memory for another process."""

import os
import shutil
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from kmapp.runtime import processes
from kmapp.runtime.processes import HandOver, PidFile, Program, rotate_log
from kmapp.runtime.supervisor import Supervisor

Start = Callable[[Program, Path], "subprocess.Popen[bytes]"]


def build_program(name: str) -> Program:
    return Program(name=name, argv=["/bin/sleep", "1000"])


def refuse(program: Program, _log: Path) -> "subprocess.Popen[bytes]":
    raise OSError(f"Cannot allocate memory for {program.name}")


def test_log_goes_on_without_space_for_its_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "web.log"
    log.write_text("old\n")

    def fill_disk(_log: Path, copy: Path) -> None:
        copy.write_text("o")
        raise OSError("No space left on device")

    monkeypatch.setattr(shutil, "copyfile", fill_disk)
    rotate_log(log, above=0)
    assert log.read_text() == "old\n"
    assert list(tmp_path.iterdir()) == [log]


def test_former_pid_file_stays_without_space_for_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = PidFile(tmp_path / "up.pid")
    file.write([], HandOver())
    before = file.path.read_text()

    def fill_disk(_file: Path, _text: str) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(Path, "write_text", fill_disk)
    file.write([(build_program("web"), os.getpid())], HandOver())
    assert file.path.read_text() == before


def test_pid_file_that_a_power_failure_emptied_is_ignored(tmp_path: Path) -> None:
    file = PidFile(tmp_path / "up.pid")
    file.path.touch()
    assert file.supervisor() is None
    assert file.hand_over() is None
    file.end_leftovers(print)
    assert not file.path.exists()


def test_program_that_cannot_be_started_again_is_tried_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reports: list[str] = []
    supervisor = Supervisor(tmp_path, reports.append)
    with supervisor.supervising():
        supervisor.start(build_program("web"))
        [child] = supervisor.children
        child.process.kill()
        child.process.wait()
        supervisor._restart_ended([child])  # noqa: SLF001 - `watch` does not end
        with monkeypatch.context() as context:
            context.setattr(processes, "start", refuse)
            child.due = 0.0
            supervisor._restart_ended([child])  # noqa: SLF001
        assert reports[-1] == "web: Cannot allocate memory for web"
        assert child.due > time.monotonic()
        child.due = 0.0
        supervisor._restart_ended([child])  # noqa: SLF001
        assert child.running


def test_successors_end_if_one_of_them_cannot_be_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    supervisor = Supervisor(tmp_path, lambda _: None)
    programs = [build_program("web"), build_program("worker")]
    start_process: Start = processes.start

    def start_web(program: Program, log: Path) -> "subprocess.Popen[bytes]":
        return (start_process if program.name == "web" else refuse)(program, log)

    with supervisor.supervising():
        supervisor.start(*programs)
        predecessors = list(supervisor.children)
        monkeypatch.setattr(processes, "start", start_web)
        with pytest.raises(OSError, match="worker"):
            supervisor.replace(*programs)
        assert supervisor.children == predecessors
        assert all(child.running for child in predecessors)


def test_program_alone_is_tried_later_if_its_successor_cannot_be_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reports: list[str] = []
    supervisor = Supervisor(tmp_path, reports.append)
    beat = replace(build_program("beat"), is_exclusive=True)
    with supervisor.supervising():
        supervisor.start(beat)
        [child] = supervisor.children
        with monkeypatch.context() as context:
            context.setattr(processes, "start", refuse)
            supervisor.replace(beat)
        assert "beat: Cannot allocate memory for beat" in reports
        assert (supervisor.children, child.running) == ([child], False)
        child.due = 0.0
        supervisor._restart_ended([child])  # noqa: SLF001
        assert child.running
        before = child.process.pid
        supervisor.replace(beat)
        assert (supervisor.children, child.running) == ([child], True)
        assert child.process.pid != before
