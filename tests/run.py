"""Run pytest with these arguments, then run the failed tests once more without parallel workers.

Thousands of tests share two cores with their servers. A test that passes alone is reported by name
and does not fail the run, as with `--rerun` of CPython's own tests. A busy machine does not explain
more than MAX_RERUNS failures: they are not run again.
"""

import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

MAX_RERUNS = 3
FAILED = 1  # pytest's exit code of a run with failed tests


def pytest(cache: str, *arguments: str) -> int:
    """Run pytest; on SIGTERM or Ctrl-C let it stop its servers and delete their data.

    A terminal sends Ctrl-C to pytest, too. Its handler is set before pytest starts, which otherwise
    ignores SIGINT if this process does, as a background command of a script.
    """
    command = [sys.executable, "-m", "pytest", "-o", f"cache_dir={cache}", *arguments]
    with (
        handling(signal.SIGINT, lambda *_: None),
        subprocess.Popen(command) as process,
        handling(signal.SIGTERM, lambda *_: process.send_signal(signal.SIGINT)),
    ):
        return process.wait()


@contextmanager
def handling(number: signal.Signals, handler: Callable[..., None]) -> Iterator[None]:
    before = signal.signal(number, handler)
    try:
        yield
    finally:
        signal.signal(number, before)


def failed_tests(cache: str) -> list[str]:
    file = Path(cache) / "v/cache/lastfailed"
    return sorted(json.loads(file.read_text())) if file.exists() else []


def _report(*lines: str) -> None:
    sys.stdout.write("\n  ".join(lines) + "\n")
    sys.stdout.flush()


def run(*arguments: str) -> int:
    """Run the tests, and a few failed ones again; return the exit code."""
    with tempfile.TemporaryDirectory(prefix="kmapp-pytest-") as cache:
        result = pytest(cache, *arguments)
        names = failed_tests(cache)
        if result != FAILED or not 0 < len(names) <= MAX_RERUNS:
            return result
        _report(f"{len(names)} failed. Running again, alone:", *names)
        result = pytest(cache, *arguments, "-n", "0", "--last-failed", "--randomly-seed=last")
    if not result:
        _report("PASSED ONLY ALONE; find out why:", *names)
    return result


if __name__ == "__main__":
    sys.exit(run(*sys.argv[1:]))
