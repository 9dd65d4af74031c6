"""The base of commands that measure: sections of a page, and pairs of searches."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.management.benchmark import run_on_temporary_servers, write_section
from kmapp.management.verification_cost import VerificationCost
from kmapp.runtime.embedded import temporary_servers


def test_a_command_replaces_its_own_section(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    for command in ("perf one", "perf two"):
        write_section(page, command, f"Figures of {command}.\n")
    with page.open("a") as file:
        file.write("\nBy hand.\n")
    write_section(page, "perf one", "Newer.")
    assert page.read_text() == (
        "# Benchmarks\n\n"
        "<!-- figures of manage.py perf one -->\n\nNewer.\n\n<!-- end of manage.py perf one -->\n\n"
        "<!-- figures of manage.py perf two -->\n\nFigures of perf two.\n\n"
        "<!-- end of manage.py perf two -->\n\nBy hand.\n"
    )


def test_each_search_of_a_pair_is_timed_after_an_untimed_one(acme: Account) -> None:
    searches: list[bool] = []

    def search() -> None:
        with acting(acme):
            searches.append(Account.objects.get(pk=acme.pk).verify_on_read)

    cost = VerificationCost()
    for _pair in range(2):
        cost.measure_pair(acme, search)
    assert searches == [False, False, True, True, True, True, False, False]
    assert [len(cost.elapsed[verified]) for verified in (False, True)] == [2, 2]


def test_ratio_is_the_median_of_pairs() -> None:
    cost = VerificationCost(
        elapsed={False: [10.0, 20.0, 100.0], True: [11.0, 24.0, 105.0]},
        cpu={False: [1.0, 1.0, 1.0], True: [1.5, 1.5, 1.5]},
    )
    assert cost.ratio == pytest.approx(1.1)
    assert cost.render_row("memories").endswith("| 1.100 | 0.50 |")


def test_exit_code_is_that_of_the_command_on_temporary_servers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    @contextmanager
    def run_servers() -> Iterator[dict[str, str]]:
        yield {}

    def run(words: list[str], environment: dict[str, str]) -> None:
        raise subprocess.CalledProcessError(3, words)

    monkeypatch.setattr(temporary_servers, "run_servers", run_servers)
    monkeypatch.setattr(temporary_servers, "prepare", dict)
    monkeypatch.setattr(temporary_servers, "run", run)
    with pytest.raises(SystemExit) as exit_:
        run_on_temporary_servers()
    assert exit_.value.code == 3
