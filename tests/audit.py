"""Known vulnerabilities of the packages in the lock files: `make audit`.

pip-audit looks up PyPI's advisories of every pinned package. An unreachable service, or a mirror
without advisories, is reported and is no failure.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LOCKS = ("requirements.txt", "requirements-dev.txt")
UNREACHABLE = ("Could not connect", "ConnectionError", "timed out", "Max retries exceeded")


@dataclass(frozen=True, slots=True)
class Report:
    text: str
    failed: bool = False


def build_report(code: int, output: str, errors: str) -> Report:
    """Interpret the exit code, the JSON and the errors of pip-audit."""
    if output.strip():
        packages = json.loads(output)["dependencies"]
        lines = [line for package in packages for line in _vulnerabilities(package)]
        if lines:
            return Report("\n".join(lines), failed=True)
        unknown = sum("skip_reason" in package for package in packages)
        if code == 0:
            return Report(
                f"{len(packages) - unknown} packages looked up, none with a known vulnerability;"
                f" the advisory service has nothing on {unknown} others."
            )
    if any(sign in errors for sign in UNREACHABLE):
        return Report("The advisory service cannot be reached: no package was looked up.")
    return Report(errors.strip() or f"pip-audit ended with {code}.", failed=True)


def _vulnerabilities(package: dict[str, Any]) -> list[str]:
    return [
        f"{package['name']} {package['version']}: {each['id']}"
        f" (fixed in {', '.join(each['fix_versions']) or 'no version yet'})"
        for each in package.get("vulns", [])
    ]


def audit(locks: Sequence[str]) -> Report:
    words = [word for lock in locks for word in ("--requirement", lock)]
    # The lock files name every package with its hash, so nothing is resolved or installed.
    options = ["--disable-pip", "--format=json", "--progress-spinner=off", "--timeout=20"]
    done = subprocess.run(
        [sys.executable, "-m", "pip_audit", *words, *options],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).resolve().parents[1],
    )
    return build_report(done.returncode, done.stdout, done.stderr)


def main() -> None:
    report = audit(LOCKS)
    sys.stdout.write(f"audit: {report.text}\n")
    sys.exit(report.failed)


if __name__ == "__main__":
    main()
