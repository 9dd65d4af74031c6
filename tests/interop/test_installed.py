"""The product as a wheel, in an environment of its own, from installation to first use."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from venv import EnvBuilder

import httpx
import pytest
from django.conf import settings

from kmapp.runtime.embedded.temporary import REAL, free_port
from tests.interop.conftest import run_script

COMMANDS = ("up", "mcp", "backup", "fsck", "perf")


@pytest.fixture
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a home folder; Postgres may run as another account, which has to enter it."""
    folder = tmp_path_factory.mktemp("home")
    for each in (folder, *folder.parents[:2]):
        each.chmod(0o711)
    return folder


@pytest.fixture
def environment(home: Path) -> dict[str, str]:
    """Return variables without those of the tests, and with free ports."""
    ports = ("PORT", "MCP_PORT", "EMBEDDER_QUERY_PORT", "EMBEDDER_BATCH_PORT")
    own_names = {*REAL, "KMAPP_DATA_DIR", "DJANGO_SETTINGS_MODULE", "PYTHONPATH", "SECRET_KEY"}
    variables = {name: value for name, value in os.environ.items() if name not in own_names}
    return variables | {name: str(free_port()) for name in ports} | {"HOME": str(home)}


@pytest.fixture
def kmapp(home: Path) -> Path:
    """Build the wheel, install it in an empty environment, and return its command."""
    build = [sys.executable, "-m", "pip", "wheel", "-q", "--no-build-isolation", "--no-deps"]
    subprocess.run([*build, "-w", home / "dist", settings.BASE_DIR], check=True)
    [wheel] = (home / "dist").glob("*.whl")
    EnvBuilder(with_pip=True, symlinks=True).create(home / "venv")
    programs = home / "venv" / "bin"
    subprocess.run([programs / "python", "-m", "pip", "install", "-q", wheel], check=True)
    return programs / "kmapp"


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


# Seconds from the wheel to a recalled memory; `make long` holds the limit.
@pytest.mark.parametrize("limit", [600, pytest.param(180, marks=pytest.mark.long)])
def test_from_the_wheel_to_a_recalled_memory(
    environment: dict[str, str], home: Path, request: pytest.FixtureRequest, limit: int
) -> None:
    began = time.monotonic()
    greeting = request.getfixturevalue("greeting")
    printed = dict(re.findall(r"^  (Page|API key|MCP|Logs) +(\S+)$", greeting, re.MULTILINE))
    seen = run_script(["mcp_client.py", printed["MCP"], printed["API key"]], home)
    assert seen["found"] == ["Ann is allergic to peanuts."]
    assert time.monotonic() - began < limit
    assert Path(printed["Logs"]) == home / ".kmapp" / "logs"
    for path in ("static/css/components.css", ""):
        page = httpx.get(printed["Page"] + path, follow_redirects=True)
        assert page.status_code == HTTPStatus.OK
    command = [request.getfixturevalue("kmapp"), "--help"]
    overview = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert all(re.search(rf"^  {name} ", overview.stdout, re.MULTILINE) for name in COMMANDS)
