"""The git commit of the source tree, for pages that state what was measured. No Django."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def describe_commit(root: Path = ROOT) -> str:
    """Return the short hash of the commit at `root`, or "" if it is not the root of a repository.

    “with changes” follows the hash if files differ from the commit. Files in `docs` do not count:
    a measurement that writes its page there would otherwise mark the next one as changed.
    """
    top_folder, _, commit = _run_git(
        root, "rev-parse", "--show-toplevel", "--short", "HEAD"
    ).partition("\n")
    # An installed package may be in a folder of another repository.
    if not commit or Path(top_folder).resolve() != root.resolve():
        return ""
    changes = _run_git(root, "status", "--porcelain", "--", ".", ":(exclude)docs")
    return f"{commit} with changes" if changes else commit


def _run_git(root: Path, *words: str) -> str:
    """Return what git prints, or "" if it fails or is not installed."""
    try:
        result = subprocess.run(  # noqa: S603 - no input of others
            ["git", "--no-optional-locks", "-C", str(root), *words],  # noqa: S607
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError:
        return ""
    return result.stdout.strip() if result.returncode == 0 else ""
