"""The product as a wheel, in an environment of its own, from installation to first use.

The environment contains the wheel and the packages that it requires, and nothing else. `make long`
downloads them; the ordinary test links those that the lock file installed for the tests.
"""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from http import HTTPStatus
from importlib.metadata import Distribution, distribution, distributions
from pathlib import Path
from venv import EnvBuilder

import httpx
import pytest
from django.conf import settings
from packaging.requirements import Requirement

from kmapp.runtime.embedded.temporary_servers import REAL_DATA_VARIABLES, free_port
from tests.interop.conftest import run_script

MAX_SECONDS = 180  # with the downloads
COMMANDS = ("up", "mcp", "backup", "fsck", "perf")


@pytest.fixture
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a home folder that other users may enter, because Postgres may run as one of them."""
    folder = tmp_path_factory.mktemp("home")
    for each in (folder, *folder.parents[:2]):
        each.chmod(0o711)
    return folder


@pytest.fixture
def environment(home: Path) -> dict[str, str]:
    """Return variables without those of the tests, and with free ports."""
    ports = ("PORT", "MCP_PORT", "EMBEDDER_QUERY_PORT", "EMBEDDER_BATCH_PORT")
    own_names = {
        *REAL_DATA_VARIABLES,
        "KMAPP_DATA_DIR",
        "DJANGO_SETTINGS_MODULE",
        "PYTHONPATH",
        "SECRET_KEY",
    }
    variables = {name: value for name, value in os.environ.items() if name not in own_names}
    return variables | {name: str(free_port()) for name in ports} | {"HOME": str(home)}


@pytest.fixture
def kmapp(home: Path, *, download: bool) -> Path:
    """Build the wheel, install it in an empty environment, and return its command."""
    pip = [sys.executable, "-m", "pip"]
    build: list[str | Path] = [
        *pip,
        "wheel",
        "-q",
        "--no-build-isolation",
        "--no-deps",
        "-w",
        home / "dist",
    ]
    subprocess.run([*build, settings.BASE_DIR], check=True)
    [wheel] = (home / "dist").glob("*.whl")
    EnvBuilder(symlinks=True).create(home / "venv")
    programs = home / "venv" / "bin"
    install: list[str | Path] = [*pip, f"--python={programs / 'python'}", "install", "-q", wheel]
    subprocess.run([*install, *([] if download else ["--no-deps", "--no-compile"])], check=True)
    if not download:
        link_required_packages(next((home / "venv").glob("lib/python*/site-packages")))
    return programs / "kmapp"


def link_required_packages(site_packages: Path) -> None:
    """Link the packages that the product requires; they are in the environment of the tests."""
    [product] = distributions(path=[str(site_packages)])
    packages: dict[tuple[str, str], Distribution] = {}
    collect_required_packages(product, "", packages)
    for file in {file for package in packages.values() for file in package.files or ()}:
        if ".." not in file.parts:  # no scripts in bin/, which run in the environment of the tests
            link = site_packages / file
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(str(file.locate()))


def collect_required_packages(
    package: Distribution, extra: str, packages: dict[tuple[str, str], Distribution]
) -> None:
    """Add what a package with this extra requires to `packages`, by name and extra, recursively."""
    for requirement in map(Requirement, package.requires or ()):
        if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
            continue
        required = distribution(requirement.name)
        assert requirement.specifier.contains(required.version, prereleases=True), requirement
        for each in ("", *requirement.extras):
            if (required.name, each) not in packages:
                packages[required.name, each] = required
                collect_required_packages(required, each, packages)


@pytest.fixture
def greeting(kmapp: Path, environment: dict[str, str], home: Path) -> Iterator[str]:
    """Run `kmapp up` and yield what it printed."""
    log = home / "up.log"
    with log.open("w") as output:
        process = subprocess.Popen(
            [kmapp, "up"], cwd=home, env=environment, stdout=output, stderr=subprocess.STDOUT
        )
    try:
        while "Ctrl-C" not in log.read_text():
            assert process.poll() is None, log.read_text()
            time.sleep(0.2)
        yield log.read_text()
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0


@pytest.mark.parametrize("download", [False, pytest.param(True, marks=pytest.mark.long)])
def test_from_the_wheel_to_a_recalled_memory(
    environment: dict[str, str], home: Path, request: pytest.FixtureRequest, *, download: bool
) -> None:
    began = time.monotonic()
    greeting = request.getfixturevalue("greeting")
    printed = dict(re.findall(r"^  (Page|API key|MCP|Logs) +(\S+)$", greeting, re.MULTILINE))
    seen = run_script(["mcp_client.py", printed["MCP"], printed["API key"]], home)
    assert seen["found"] == ["Ann is allergic to peanuts."]
    assert not download or time.monotonic() - began < MAX_SECONDS
    assert Path(printed["Logs"]) == home / ".kmapp" / "logs"
    for path in ("static/css/components.css", ""):
        page = httpx.get(printed["Page"] + path, follow_redirects=True)
        assert page.status_code == HTTPStatus.OK
    command = [request.getfixturevalue("kmapp"), "--help"]
    overview = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert all(re.search(rf"^  {name} ", overview.stdout, re.MULTILINE) for name in COMMANDS)
