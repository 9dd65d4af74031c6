"""Each promise has a test, and the table shows the results."""

import ast
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.measure import SKIPPED_IN_SHORT_FORM
from tests.promises import __main__ as command
from tests.promises.register import PROMISES
from tests.promises.table import BROKEN, KEPT, NOT_SHOWN, as_markdown, as_text, rows, runs

TESTS = Path(__file__).parent


def list_marks() -> Iterator[int]:
    """Yield the numbers in the marks of all tests."""
    for path in TESTS.rglob("test_*.py"):
        text = path.read_text()
        for node in ast.walk(ast.parse(text)) if ".promise(" in text else ():
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr == "promise"
            ):
                yield from map(ast.literal_eval, node.args)


def test_every_promise_has_a_test() -> None:
    assert list(PROMISES) == list(range(1, len(PROMISES) + 1))
    assert set(list_marks()) == set(PROMISES)


def test_chaos_tests_are_in_the_folder_that_the_short_form_runs() -> None:
    paths = {path for path in TESTS.rglob("*.py") if re.search(r"mark\.chaos\b", path.read_text())}
    assert paths
    assert [path for path in paths if TESTS / "chaos" not in path.parents] == []


Result = tuple[str, list[int], list[str]]


def store_run(
    folder: Path, name: str, tests: dict[str, Result], *, short: bool = False, **machine: Any
) -> None:
    """Store a run; the figures of a skipped test are its reason."""
    stored = {
        test: {"outcome": outcome, "promises": numbers, "measured": figures}
        if outcome != "skipped"
        else {"outcome": outcome, "promises": numbers, "measured": [], "why": "".join(figures)}
        for test, (outcome, numbers, figures) in tests.items()
    }
    (folder / f"{name}.json").write_text(
        json.dumps({"began": name, "short": short, **machine, "tests": stored})
    )


def test_runs_are_one_table_and_the_last_result_counts(tmp_path: Path) -> None:
    left = [SKIPPED_IN_SHORT_FORM]
    first: dict[str, Result] = {
        "a": ("failed", [1], []),
        "b": ("passed", [2], ["9 ms"]),
        "c": ("skipped", [2, 3], left),
    }
    store_run(tmp_path, "2026-01-01", first)
    store_run(tmp_path, "2026-01-02", {"a": ("passed", [1], ["0 lost"]), "d": ("failed", [4], [])})
    table = rows(runs(tmp_path))
    assert len(table) == len(PROMISES)
    assert [row.verdict for row in table[:4]] == [KEPT, KEPT, NOT_SHOWN, BROKEN]
    assert table[0].cells()[4] == "0 lost; 1 of 1 tests passed"
    assert table[1].cells()[4] == "9 ms; 1 of 1 tests passed, 1 skipped"
    assert as_text(table).count(NOT_SHOWN) == len(PROMISES) - 3
    assert as_markdown(table).count("\n| 4 |") == 1


@pytest.mark.parametrize("short", [False, True])
def test_skipped_tests_leave_a_promise_open_except_in_the_short_form(
    tmp_path: Path, *, short: bool
) -> None:
    no_clock, no_browser = ["no faketime"], ["no Chromium"]
    results: dict[str, Result] = {
        "a": ("passed", [1, 2], []),
        "b": ("skipped", [1], no_clock),
        "c": ("skipped", [1], no_browser),
        "d": ("skipped", [1], no_clock),
        "e": ("skipped", [2], [SKIPPED_IN_SHORT_FORM]),
        "f": ("failed", [3], []),
        "g": ("skipped", [3, 4], no_clock),
    }
    store_run(tmp_path, "2026-01-01", results, short=short)
    verdicts = [row.verdict for row in rows(runs(tmp_path))[:4]]
    if short:
        assert verdicts == [KEPT, KEPT, BROKEN, NOT_SHOWN]
    else:
        lacks = f"{NOT_SHOWN}: no faketime"
        assert verdicts == [f"{lacks}; no Chromium", KEPT, BROKEN, lacks]


MACHINE: dict[str, Any] = {"cores": 2, "postgres": "18.6", "python": "3.11.7"}


def test_page_states_each_complete_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, *others = PROMISES
    page = tmp_path / "promises.md"
    page.write_text(f"# Promises\n\n{command.BEGIN}\n\nOlder.\n\n{command.END}\n\nMore.\n")
    monkeypatch.setattr(command, "DOCS", page)
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder, day, commit, outcome in zip(
        folders, (2, 1), ("1a2b3c4d with changes", ""), ("passed", "failed"), strict=True
    ):
        folder.mkdir()
        parts: tuple[dict[str, Result], ...] = (
            {"a": (outcome, [first], [f"{day} ms"])},
            {"b": ("passed", others, [])},
        )
        for hour, part in zip((8, 9), parts, strict=True):
            began = f"2026-01-0{day}T0{hour}:30:00+00:00"
            store_run(folder, began, part, commit=commit, **MACHINE)
    whole = len(PROMISES)
    monkeypatch.setattr(sys, "argv", ["promises", "--docs", *map(str, reversed(folders))])
    assert command.main() == 1, "a promise was broken in the earlier run"
    text = page.read_text()
    run, machine = "By `make chaos` on 2 January 2026", "with 2 cores, PostgreSQL 18.6 and Python"
    assert f"{run}, {machine} 3.11.7, commit 1a2b3c4d with changes." in text
    assert [line for line in text.splitlines() if line.endswith(f" of {whole} |")] == [
        f"| 2 January 2026, 08:30 UTC | 1a2b3c4d with changes | {whole} of {whole} |",
        f"| 1 January 2026, 08:30 UTC | not recorded | {whole - 1} of {whole} |",
    ]
    assert "2 ms" in text, "the table is of the newest run"
    assert "1 ms" not in text
    assert "Older." not in text
    assert text.startswith(f"# Promises\n\n{command.BEGIN}\n\n")
    assert text.endswith(f"\n\n{command.END}\n\nMore.\n")
    monkeypatch.setattr(sys, "argv", ["promises", "--docs", str(folders[0])])
    assert command.main() == 0
    monkeypatch.setattr(sys, "argv", ["promises", "--docs", str(folders[0]), str(tmp_path / "no")])
    with pytest.raises(SystemExit):
        command.main()


@pytest.fixture
def elsewhere(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """Return a folder of other tests with the plugin."""
    monkeypatch.setenv("PYTHONPATH", str(TESTS.parent))
    for name in ("DJANGO_SETTINGS_MODULE", "CHAOS_SHORT"):
        monkeypatch.delenv(name, raising=False)
    # Importing the other plugins takes longer than these tests.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makeconftest('pytest_plugins = ["tests.promises.plugin"]')
    pytester.makeini("[pytest]\nmarkers =\n  promise: numbers\n  chaos: hurts\n")
    return pytester


def test_measurements_are_recorded(elsewhere: pytest.Pytester) -> None:
    elsewhere.makepyfile(
        """
        import pytest

        @pytest.mark.promise(2, 1)
        def test_good(record_figure):
            record_figure("7 of 7")

        @pytest.mark.promise(3)
        def test_bad(record_figure):
            record_figure("6 of 7")
            assert 0

        @pytest.mark.promise(4)
        def test_that_does_not_begin(nothing):
            pass

        @pytest.mark.promise(2, 5)
        @pytest.mark.skipif(True, reason="no faketime")
        def test_marked():
            pass

        @pytest.mark.promise(6)
        def test_that_skips():
            pytest.skip("no Chromium")

        def test_other():
            pass
        """
    )
    elsewhere.runpytest_subprocess("-p", "xdist", "--promises=results", "-n2")
    table = rows(runs(elsewhere.path / "results"))
    clock, browser = f"{NOT_SHOWN}: no faketime", f"{NOT_SHOWN}: no Chromium"
    verdicts = [row.verdict for row in table[:7]]
    assert verdicts == [KEPT, clock, BROKEN, BROKEN, clock, browser, NOT_SHOWN]
    assert [row.figures for row in table[:4]] == [["7 of 7"], ["7 of 7"], ["6 of 7"], []]


def test_interrupted_run_has_no_result(elsewhere: pytest.Pytester) -> None:
    elsewhere.makepyfile(
        """
        import pytest

        @pytest.mark.promise(1)
        def test_good():
            pass

        def test_interrupted():
            raise KeyboardInterrupt
        """
    )
    results = elsewhere.runpytest_subprocess("--promises=results")
    assert results.ret == pytest.ExitCode.INTERRUPTED
    assert not (elsewhere.path / "results").exists()


@pytest.mark.parametrize(
    ("mark", "why"), [("promise(99)", "no promise"), ("chaos", "needs the mark")]
)
def test_invalid_promise_mark_is_rejected(elsewhere: pytest.Pytester, mark: str, why: str) -> None:
    elsewhere.makepyfile(f"import pytest\n\n@pytest.mark.{mark}\ndef test_it():\n    pass\n")
    results = elsewhere.runpytest_subprocess()
    assert results.ret == pytest.ExitCode.USAGE_ERROR
    results.stderr.fnmatch_lines([f"*{why}*"])


def test_page_names_the_short_form_in_whatever_order_its_runs_began(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The short form of the chaos tests may run beside `make test`."""
    page, folder = tmp_path / "promises.md", tmp_path / "one"
    monkeypatch.setattr(command, "DOCS", page)
    monkeypatch.setattr(sys, "argv", ["promises", "--docs", str(folder)])
    folder.mkdir()
    for short_form in (8, 9):
        page.write_text(f"{command.BEGIN}\n\nOlder.\n\n{command.END}")
        for hour in (8, 9):
            began = f"2026-01-02T0{hour}:30:00+00:00"
            results: dict[str, Result] = {str(hour): ("passed", [*PROMISES], [])}
            store_run(folder, began, results, short=hour == short_form, **MACHINE)
        assert command.main() == 0
        assert "By `make test` and `make chaos SHORT=1` on 2 January" in page.read_text()
