"""Run pytest with these arguments; run the tests that failed once more, with nothing beside them.

Thousands of tests share two cores with their servers. A test that passes alone is reported by name
and does not fail the run, as with `--rerun` of CPython's own tests. More failures than MOST are no
accident of a busy machine: they stand.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

MAX_RERUNS = 3
FAILED = 1  # pytest's exit code of a run with failed tests


def pytest(cache: str, *arguments: str) -> int:
    command = [sys.executable, "-m", "pytest", "-o", f"cache_dir={cache}", *arguments]
    return subprocess.run(command, check=False).returncode


def failed_tests(cache: str) -> list[str]:
    file = Path(cache) / "v/cache/lastfailed"
    return sorted(json.loads(file.read_text())) if file.exists() else []


def _report(*lines: str) -> None:
    sys.stdout.write("\n  ".join(lines) + "\n")
    sys.stdout.flush()


def run(*arguments: str) -> int:
    """Return the exit code."""
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
