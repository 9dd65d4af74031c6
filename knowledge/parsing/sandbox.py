"""Sandbox for parsers: a process with limits on memory and time, without secrets."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from time import monotonic
from typing import IO, Any, BinaryIO

from django.conf import settings

from knowledge.chunking import Chunk, Shape
from knowledge.parsing.chunk_serialization import BadCut, unpacked

MEMORY = 512 * 1024 * 1024
CPU_SECONDS = 10
WALL_CLOCK_SECONDS = 15
LONGEST_HEAD = 100_000  # bytes of a frame's first line
MODULE = "knowledge.parsing.sandboxed_parser"
BROKE = "The parser failed on this file."


class CannotRead(Exception):
    """Why a file has no text: for the person who sent it."""


Frame = tuple[dict[str, Any], bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cutting:
    """How a text is to be cut: into so many tokens by each index version."""

    shape: Shape
    language: str
    tokens: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """A file that is a text, and its chunks by each version."""

    text: str
    title: str
    chunks: Mapping[str, Sequence[Chunk]]


def read_text(parser: str, file: BinaryIO, cutting: Cutting) -> Read:
    """Return the text of a file with its chunks."""
    text = title = ""
    chunks: dict[str, list[Chunk]] = {}
    try:
        for head, data in _frames(parser, file, asdict(cutting)):
            if "version" in head:
                chunks[str(head["version"])] = unpacked(text, data)
            else:
                text, title = data.decode(), str(head.get("title", ""))
    except BadCut as error:
        raise CannotRead(BROKE) from error
    return Read(text=text, title=title, chunks=chunks)


def read_archive(file: BinaryIO) -> Iterator[tuple[str, bytes]]:
    """Yield the files of an archive with their names. May raise midway."""
    for head, data in _frames("zip", file, {}):
        yield str(head["name"]), data


def _frames(parser: str, file: BinaryIO, cut: Mapping[str, Any]) -> Iterator[Frame]:
    with _process(parser, file, json.dumps(cut)) as process:
        watchdog = _Watchdog(process)
        while (frame := watchdog.next()) is not None:
            yield frame


class _Watchdog:
    """Waits for frames, in all no longer than a parser may take.

    What is done with a frame meanwhile is not the parser's time: a large archive takes longer.
    """

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.process, self.left = process, float(WALL_CLOCK_SECONDS)

    def next(self) -> Frame | None:
        """Return the next frame, or None after the last one."""
        started = monotonic()
        timer = threading.Timer(self.left, self.process.kill)
        timer.start()
        try:
            return _frame(self.process)
        finally:
            timer.cancel()
            self.left = max(0.0, self.left - (monotonic() - started))


def _frame(process: "subprocess.Popen[bytes]") -> Frame | None:
    out = process.stdout
    assert out is not None  # noqa: S101 - a pipe, as asked for
    head = _head(out)
    if head is None:
        raise CannotRead(_why_it_died(process))
    if "refused" in head:
        raise CannotRead(str(head["refused"]))
    return None if head.get("done") else (head, _body(out, head, process))


@contextmanager
def _process(parser: str, file: BinaryIO, cut: str) -> Iterator["subprocess.Popen[bytes]"]:
    file.seek(0)
    # Where the process will read on: `seek` may have moved inside the buffer only.
    os.lseek(file.fileno(), 0, os.SEEK_SET)
    process = subprocess.Popen(  # noqa: S603 - our own module, and names that are ours
        [sys.executable, "-m", MODULE, parser, str(MEMORY), str(CPU_SECONDS), cut],
        stdin=file,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        # Neither the database's address nor a key.
        env={"PYTHONPATH": str(settings.BASE_DIR), "PATH": os.defpath, "LANG": "C.UTF-8"},
        cwd="/",
        start_new_session=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        if process.stdout:
            process.stdout.close()


def _head(out: IO[bytes]) -> dict[str, Any] | None:
    line = out.readline(LONGEST_HEAD)
    if not line.endswith(b"\n"):
        return None
    try:
        head = json.loads(line)
    except ValueError:
        return None
    return head if isinstance(head, dict) else None


def _body(out: IO[bytes], head: dict[str, Any], process: "subprocess.Popen[bytes]") -> bytes:
    length = head.get("length")
    if not isinstance(length, int) or not 0 <= length <= settings.KNOWLEDGE_MAX_FILE_BYTES:
        raise CannotRead("The archive contains a file that is too large.")
    data = out.read(length)
    if len(data) < length:
        raise CannotRead(_why_it_died(process))
    return data


def _why_it_died(process: "subprocess.Popen[bytes]") -> str:
    code = process.wait()
    if code in (-signal.SIGKILL, -signal.SIGXCPU):
        return f"Parsing took longer than {CPU_SECONDS} seconds."
    return BROKE
