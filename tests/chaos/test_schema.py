"""The API matches its schema, tested by schemathesis."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings

from kmapp.accounts.models import Account
from tests.chaos.measure import amount
from tests.chaos.product import Product
from tests.promises.plugin import RecordFigure

# The runs of five minutes, which precede a release, are part of `make long`.
CHAOS_MARKS = [pytest.mark.chaos, pytest.mark.promise(31)]
WITH_KEY = [
    pytest.param(amount(120, 20), marks=CHAOS_MARKS),
    pytest.param(300, marks=pytest.mark.long),
]
WITHOUT = [
    pytest.param(amount(60, 20), marks=CHAOS_MARKS),
    pytest.param(300, marks=pytest.mark.long),
]

CONFIG = Path(__file__).with_name("schemathesis.toml")
PHASES = "examples,coverage,fuzzing,stateful"


def examine(product: Product, seconds: int, *more: str) -> str:
    """Run all checks for this time; fail if one finds an error. Return the number of cases."""
    product.ensure_running("valkey", "provider", "web", "worker", "beat")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "schemathesis.cli", "--config-file", str(CONFIG), "run"),
            *(f"--phases={PHASES}", "--checks=all", "--generation-allow-x00=true"),
            *(f"--max-time={seconds}", "--workers=1", *more),
            f"http://127.0.0.1:{product.port}/v1/schema",
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds + 240,  # it ends between two cases, and shrinks failed ones
        cwd=settings.DATA_DIR,
    )
    lines = [line[:500] for line in done.stdout.splitlines()]  # addresses can be long
    assert done.returncode == 0, "\n".join(lines)[-20_000:] + done.stderr[-2_000:]
    (cases,) = re.findall(r"^ *([0-9,]+ generated, .*)$", done.stdout, flags=re.MULTILINE)
    return f"{cases} in {seconds} s"


@pytest.mark.timeout(900)
@pytest.mark.parametrize("seconds", WITH_KEY)
def test_with_a_key_of_every_scope(
    seconds: int, product: Product, acme: Account, record_figure: RecordFigure
) -> None:
    headers = f"--header=Authorization: Bearer {product.key}"
    record_figure("with a key " + examine(product, seconds, headers))


@pytest.mark.timeout(900)
@pytest.mark.parametrize("seconds", WITHOUT)
def test_without_a_key(
    seconds: int, product: Product, acme: Account, record_figure: RecordFigure
) -> None:
    record_figure("without a key " + examine(product, seconds))
