"""Running a parser in a process that can harm nobody: bound in memory and time, without secrets."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, BinaryIO

from django.conf import settings

MEMORY = 512 * 1024 * 1024
CPU_SECONDS = 10
WALL_SECONDS = 15
LONGEST_HEAD = 100_000  # bytes of a frame's first line


class CannotRead(Exception):
    """Why a file has no text: for the person who sent it."""


Frame = tuple[dict[str, Any], bytes]


def read_file(parser: str, file: BinaryIO) -> Iterator[Frame]:
    """What a parser makes of a file: texts, or the files of an archive. May raise half-way."""
    with _process(parser, file) as process:
        out = process.stdout
        assert out is not None  # noqa: S101 - a pipe, as asked for
        while True:
            head = _head(out)
            if head is None:
                raise CannotRead(_why_it_died(process))
            if "refused" in head:
                raise CannotRead(str(head["refused"]))
            if head.get("done"):
                return
            yield head, _body(out, head, process)


@contextmanager
def _process(parser: str, file: BinaryIO) -> Iterator["subprocess.Popen[bytes]"]:
    file.seek(0)
    process = subprocess.Popen(  # noqa: S603 - our own module, and names that are ours
        [sys.executable, "-m", "knowledge.parsing.reading", parser, str(MEMORY), str(CPU_SECONDS)],
        stdin=file,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        # Neither the database's address nor a key.
        env={"PYTHONPATH": str(settings.BASE_DIR), "PATH": os.defpath, "LANG": "C.UTF-8"},
        cwd="/",
        start_new_session=True,
    )
    watch = threading.Timer(WALL_SECONDS, process.kill)
    watch.start()
    try:
        yield process
    finally:
        watch.cancel()
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
        raise CannotRead("It holds a file that is too large.")
    data = out.read(length)
    if len(data) < length:
        raise CannotRead(_why_it_died(process))
    return data


def _why_it_died(process: "subprocess.Popen[bytes]") -> str:
    code = process.wait()
    if code in (-signal.SIGKILL, -signal.SIGXCPU):
        return f"Reading it took longer than {CPU_SECONDS} seconds."
    return "The parser broke over it."
