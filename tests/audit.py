"""Known vulnerabilities of what the lock files name: `make audit`.

pip-audit asks PyPI's advisories for every pinned package. What it cannot learn (the service is out
of reach, or a mirror in its place has no advisories) is said, and is no failure: nothing is known.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LOCKS = ("requirements.txt", "requirements-dev.txt")
SILENT = ("Could not connect", "ConnectionError", "timed out", "Max retries exceeded")


@dataclass(frozen=True, slots=True)
class Report:
    """What there is to say, and whether it is a failure."""

    text: str
    failed: bool = False


def told(code: int, said: str, complaints: str) -> Report:
    """What pip-audit's exit code, its JSON and its complaints come to."""
    if said.strip():
        packages = json.loads(said)["dependencies"]
        lines = [line for package in packages for line in _vulnerabilities(package)]
        if lines:
            return Report("\n".join(lines), failed=True)
        unknown = sum("skip_reason" in package for package in packages)
        if code == 0:
            return Report(
                f"{len(packages) - unknown} packages looked up, none with a known vulnerability;"
                f" the advisory service has nothing on {unknown} others."
            )
    if any(sign in complaints for sign in SILENT):
        return Report("The advisory service cannot be reached: no package was looked up.")
    return Report(complaints.strip() or f"pip-audit ended with {code}.", failed=True)


def _vulnerabilities(package: dict[str, Any]) -> list[str]:
    return [
        f"{package['name']} {package['version']}: {each['id']}"
        f" (mended in {', '.join(each['fix_versions']) or 'no version yet'})"
        for each in package.get("vulns", [])
    ]


def audit(locks: Sequence[str]) -> Report:
    words = [word for lock in locks for word in ("--requirement", lock)]
    # The locks name every package with its hash: nothing is resolved, nothing installed.
    options = ["--disable-pip", "--format=json", "--progress-spinner=off", "--timeout=20"]
    done = subprocess.run(
        [sys.executable, "-m", "pip_audit", *words, *options],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).resolve().parents[1],
    )
    return told(done.returncode, done.stdout, done.stderr)


def main() -> None:
    report = audit(LOCKS)
    sys.stdout.write(f"audit: {report.text}\n")
    sys.exit(report.failed)


if __name__ == "__main__":
    main()
