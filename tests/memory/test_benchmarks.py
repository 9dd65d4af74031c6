"""The perf command, on small data."""

import os
import re
import subprocess
import sys
from datetime import timedelta
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from django.conf import settings
from django.core.management import CommandError

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.ledger.models import Commit
from kmapp.ledger.signing import Statement, append_statements, load_signing_key, sign_statement
from memory.benchmarks import signing_rounds, verify_on_read_cost
from memory.benchmarks.checkpoint_write_overhead import CheckpointCost, find_longest_delay
from memory.benchmarks.synthetic_entries import Writer
from tests import makers

perf = partial(makers.run_command, "perf")


def test_bench_writes_a_table(committed: str, tmp_path: Path) -> None:
    page, others = tmp_path / "b.md", "\n\n## Rules\n\nTheir own figures.\n"
    begin, end = "<!-- figures of manage.py perf bench -->", "<!-- end of manage.py perf bench -->"
    page.write_text(f"# Benchmarks\n\n{begin}\n\nOlder figures.\n\n{end}{others}")
    result = perf("bench", "--here", "--sizes=400", "--number=3", f"--out={page}")
    assert page.read_text() == f"# Benchmarks\n\n{begin}\n\n{result.strip()}\n\n{end}{others}"
    rows = [line for line in result.splitlines() if line.startswith("| 400 |")]
    assert len(rows) == 4
    lines = [line for line in result.splitlines() if line.startswith("- with 400 memories: ")]
    assert ["; dated " in line for line in lines] == [True, False]
    assert "make bench" in result


def test_dated_queries_have_a_speaker_and_a_year() -> None:
    queries = ["One.", "Two.", "Three.", "四。", "五。", "六。", "七。"]
    dated = Writer(np.random.default_rng(1)).add_dates(queries)
    assert dated[1:] == queries[1:]
    assert re.fullmatch(r"Ann, 20\d\d: One\.", dated[0])


def test_statements_of_searches_are_measured_by_sender(committed: str) -> None:
    heading, _, *rows = perf("statements", "--here", "--entries=100", "--number=2").splitlines()
    assert heading == "| sender | a search | ms | of it planning | rows | bytes |"
    cells = {row.split(" | ")[0].strip("| "): row.strip("| ").split(" | ")[1:] for row in rows}
    for sender in ("load_surroundings", "load_exact_scores", "load_rows"):
        number, execution, planning, row_count, size = cells[sender]
        assert number == "1.00", sender
        assert float(execution) > 0, sender
        assert float(planning) > 0, sender
        # All scores are computed before `load_exact_scores` while nothing is packed.
        has_rows = sender != "load_exact_scores"
        assert (int(row_count.replace(",", "")) > 0) == has_rows, sender
        assert (int(size.replace(",", "")) > 0) == has_rows, sender


def test_verify_fails_above_its_target(
    committed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "b.md"
    words = ("verify", "--here", "--entries=100", "--number=1", f"--out={page}")
    monkeypatch.setattr(verify_on_read_cost, "TARGET", 1_000.0)
    result = perf(*words)
    assert "The target, at most 1000.00, holds: the largest ratio is " in result
    rows = [line for line in result.splitlines() if line.startswith("| 100 memories, by ")]
    assert len(rows) == 3
    monkeypatch.setattr(verify_on_read_cost, "TARGET", 0.001)
    with pytest.raises(CommandError, match=r"at most 0\.00, is missed") as error:
        perf(*words)
    assert error.value.returncode == 1
    assert page.read_text().count("## Verification on read") == 1
    assert str(error.value) in page.read_text(), "the page states it, too"


def test_rounds_of_signing_sign_each_account(
    committed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = signing_rounds.measure_signing_rounds(3)
    assert len(seconds) == signing_rounds.SIGNING_ROUNDS
    assert min(seconds) > 0
    slow = CheckpointCost(unsigned_rate=100, signed_rate=95, ratio=0.95, delay=2.1)
    text = signing_rounds.render_section("Generated.", slow, 3, [0.1, 0.3, 0.2])
    assert "at most 2.0 s, is missed" in text
    assert "| 100 | 95 | 0.95 | 2.1 s |" in text
    assert "each of 3 accounts has one new commit, a round of signing takes 0.20 s" in text
    assert "at most 0.30 s" in text
    monkeypatch.setattr(signing_rounds, "sign_moved_heads", list)  # another process signs
    with pytest.raises(RuntimeError, match="3 accounts were not signed"):
        signing_rounds.measure_signing_rounds(3)


def test_longest_delay_is_that_of_any_commit(acme: Account) -> None:
    for _each in range(2):
        makers.key(acme)
    with acting(acme):
        one, two = Commit.objects.of(acme).order_by("-seq")[:2][::-1]
    key = load_signing_key(settings.CHECKPOINT_KEY_FILE)
    for commit, seconds in ((one, 1.5), (two, 0.25)):
        statement = Statement(
            account=acme.pk,
            seq=commit.seq,
            commit_hash=commit.commit_hash,
            created_at=commit.created_at + timedelta(seconds=seconds),
        )
        append_statements(settings.CHECKPOINT_FILE, [sign_statement(key, statement)])
    assert find_longest_delay(acme, range(one.seq, two.seq + 1)) == 1.5
    assert find_longest_delay(acme, range(two.seq, two.seq + 1)) == 0.25


def test_jobs_are_measured_by_queue(committed: str) -> None:
    result = perf("jobs", "--here", "--entries=100", "--number=20").splitlines()
    assert [line.partition(":")[0] for line in result] == ["embedding", "default", "clustering"]
    assert all("memories a second" in line for line in result)


def test_explain_prints_plans(committed: str) -> None:
    perf("seed", "300")
    result = perf("explain", "--account=perf-90", "--user=user-0001")
    for name in (
        "load_weighted_terms",
        "find_best_by_words",
        "find_nearest",
        "load_exact_scores",
        "list page",
        "outbox head",
    ):
        assert name in result
    assert "One-Time Filter" in result, "the wall between accounts is part of the plan"
    assert "$1" not in result, "values, not parameters"
    only = perf("explain", "--only=nearest")
    assert "perf-0-1: find_nearest" in only
    assert "list page" not in only


def test_explain_needs_data(acme: Account) -> None:
    with pytest.raises(CommandError, match="perf seed"):
        perf("explain")


@pytest.mark.long
def test_temporary_services_are_removed(tmp_path: Path) -> None:
    own_variables = {"KMAPP_DATA_DIR", "EMBEDDER_QUERY_PORT", "EMBEDDER_BATCH_PORT"}
    environment = {name: value for name, value in os.environ.items() if name not in own_variables}
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "kmapp.runtime.embedded.temporary_servers",
            "manage.py",
            "embedding_models",
            "list",
        ],
        env=environment | {"TMPDIR": str(tmp_path), "DJANGO_SETTINGS_MODULE": "kmapp.settings"},
        cwd=settings.BASE_DIR,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "1  active" in done.stdout
    assert not list(tmp_path.glob("kmapp-throwaway-*"))


def test_seeding_asks_before_it_adds_to_other_memories(
    acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    makers.write(acme, "Real.", user_id="u")
    query: list[str] = []

    def no(question: str) -> str:
        query.append(question)
        return "n"

    monkeypatch.setattr("builtins.input", no)
    with pytest.raises(CommandError, match="Nothing was changed"):
        perf("seed", "100")
    assert "1 other memories" in query[0]


@pytest.mark.parametrize("shares", ["90,20", "0,1", "-1"])
def test_rejects_invalid_shares(shares: str) -> None:
    with pytest.raises(CommandError, match="add up to at most 100"):
        perf("seed", "100", f"--account-share={shares}")
