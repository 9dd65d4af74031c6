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
from typing import Any, BinaryIO

from django.conf import settings

from knowledge.chunking import Chunk, Shape

MAX_MEMORY = 512 * 1024 * 1024
CPU_SECONDS = 10
WALL_CLOCK_SECONDS = 15
MAX_HEAD_BYTES = 100_000  # bytes of a frame's first line
MODULE = "knowledge.parsing.sandboxed_parser"
PARSER_FAILED = "The parser failed on this file."


class CannotParse(Exception):
    """The reason why a file could not be parsed, for the person who sent it."""


Frame = tuple[dict[str, Any], bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkSettings:
    shape: Shape
    language: str
    tokens: Mapping[str, int]  # tokens in a chunk, by index version


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedFile:
    text: str
    title: str
    chunks: Mapping[str, Sequence[Chunk]]  # by index version


def parse_in_sandbox(parser: str, file: BinaryIO, chunk_settings: ChunkSettings) -> ParsedFile:
    text = title = ""
    chunks: dict[str, list[Chunk]] = {}
    for head, data in _read_frames(parser, file, asdict(chunk_settings)):
        if "version" in head:
            chunks[str(head["version"])] = _parse_chunks(text, data)
        else:
            text, title = data.decode(), str(head.get("title", ""))
    return ParsedFile(text=text, title=title, chunks=chunks)


def _parse_chunks(text: str, data: bytes) -> list[Chunk]:
    """Validate the positions of chunks: a malicious file may control the parser's process."""
    chunks: list[Chunk] = []
    try:
        for start, end, line_start, line_end, page, headings in json.loads(data):
            if not 0 <= start < end <= len(text):
                raise CannotParse(PARSER_FAILED)
            chunks.append(
                Chunk(
                    index=len(chunks),
                    start=start,
                    end=end,
                    line_start=int(line_start),
                    line_end=int(line_end),
                    page=page and int(page),
                    headings=tuple(str(each) for each in headings),
                    text=text[start:end],
                )
            )
    except (TypeError, ValueError) as error:
        raise CannotParse(PARSER_FAILED) from error
    return chunks


def unpack_in_sandbox(file: BinaryIO) -> Iterator[tuple[str, bytes]]:
    """Yield the files of an archive with their names. May raise midway."""
    for head, data in _read_frames("zip", file, {}):
        yield str(head["name"]), data


def _read_frames(parser: str, file: BinaryIO, chunk_settings: Mapping[str, Any]) -> Iterator[Frame]:
    """Yield the frames of a parser, which is killed when its time is used up.

    The time in which the caller handles a frame does not count: a large archive takes longer.
    """
    seconds_left = float(WALL_CLOCK_SECONDS)
    with _start_parser(parser, file, json.dumps(chunk_settings)) as process:
        while True:
            started = monotonic()
            timer = threading.Timer(seconds_left, process.kill)
            timer.start()
            try:
                frame = _read_frame(process)
            finally:
                timer.cancel()
            if frame is None:
                return
            seconds_left = max(0.0, seconds_left - (monotonic() - started))
            yield frame


@contextmanager
def _start_parser(
    parser: str, file: BinaryIO, chunk_settings: str
) -> Iterator["subprocess.Popen[bytes]"]:
    file.seek(0)
    # The process reads from the descriptor's position, which `seek` may not have changed because
    # it may have moved inside the buffer only.
    os.lseek(file.fileno(), 0, os.SEEK_SET)
    process = subprocess.Popen(  # noqa: S603 - our own module with arguments from constants
        [sys.executable, "-m", MODULE, parser, str(MAX_MEMORY), str(CPU_SECONDS), chunk_settings],
        stdin=file,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        # No database address and no keys.
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


def _read_frame(process: "subprocess.Popen[bytes]") -> Frame | None:
    """Return the next frame, or None after the last one."""
    assert process.stdout is not None  # noqa: S101 - a pipe
    line = process.stdout.readline(MAX_HEAD_BYTES)
    try:
        head = json.loads(line) if line.endswith(b"\n") else None
    except ValueError:
        head = None
    if not isinstance(head, dict):
        raise CannotParse(_explain_exit(process))
    if "refused" in head:
        raise CannotParse(str(head["refused"]))
    if head.get("done"):
        return None
    length = head.get("length")
    if not isinstance(length, int) or not 0 <= length <= settings.KNOWLEDGE_MAX_FILE_BYTES:
        raise CannotParse("The archive contains a file that is too large.")
    data = process.stdout.read(length)
    if len(data) < length:
        raise CannotParse(_explain_exit(process))
    return head, data


def _explain_exit(process: "subprocess.Popen[bytes]") -> str:
    if process.wait() in (-signal.SIGKILL, -signal.SIGXCPU):
        return f"Parsing took longer than {CPU_SECONDS} seconds."
    return PARSER_FAILED
