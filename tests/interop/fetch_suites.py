"""Fetch the published tests of the official clients, from their source distributions, once.

Run by `make clients` with the environment of the clients; the tests land in its folder `suites`.
"""

import subprocess
import sys
import tarfile
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

PACKAGES = ("hindsight-client", "langgraph-checkpoint", "langgraph-sdk")
SUITES = Path(sys.prefix) / "suites"


def fetch(package: str) -> None:
    """Unpack the source distribution of the installed version of a package."""
    requirement = f"{package}=={version(package)}"
    folder = SUITES / package
    mark = folder / "version.txt"
    if mark.exists() and mark.read_text() == requirement:
        return
    with TemporaryDirectory() as downloads:
        options = ["--quiet", "--no-deps", "--no-binary", package, "--dest", downloads]
        command = [sys.executable, "-m", "pip", "download", *options, requirement]
        subprocess.run(command, check=True)
        [archive] = Path(downloads).glob("*.tar.gz")
        with tarfile.open(archive) as unpacked:
            unpacked.extractall(downloads, filter="data")
        [source] = (each for each in Path(downloads).iterdir() if each.is_dir())
        folder.mkdir(parents=True, exist_ok=True)
        for path in [source / "pyproject.toml", *source.glob("tests/**/*.py")]:
            target = folder / path.relative_to(source)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    mark.write_text(requirement)


if __name__ == "__main__":
    for name in PACKAGES:
        fetch(name)
