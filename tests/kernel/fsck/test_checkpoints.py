"""Signed checkpoints reveal a chain that was rewritten, cut or restored."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.test import Client

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.ledger.actions import recording
from kmapp.ledger.chain_deviations import find_deviation, list_deviations
from kmapp.ledger.fsck.database_snapshot import open_snapshot
from kmapp.management.commands import up
from kmapp.management.commands.up import BEHIND
from kmapp.runtime.embedded.temporary_servers import free_port
from kmapp.runtime.processes import Program
from kmapp.runtime.supervisor import Supervisor
from tests import makers
from tests.kernel.fsck.fixtures import Ledger


def commit(ledger: Ledger) -> None:
    account = ledger.account
    account.redact, account.account_wide = [], "apply"
    with acting(account), recording(account.pk, SYSTEM) as change:
        change.update(account, "redact", "account_wide")


@pytest.mark.promise(28)
def test_rewritten_suffix_is_reported(ledger: Ledger) -> None:
    links = ledger.links()
    forged = [*links[:3], *(replace(link, actor=f"user:{link.id}") for link in links[3:])]
    ledger.intruder.rehash(forged, ledger.account.pk)
    problems = ledger.problems("--chain-only")
    assert [(p["kind"], p["seq"]) for p in problems if p["kind"] != "version"] == [
        ("rewritten", len(links))
    ]


@pytest.mark.promise(28)
def test_truncated_chain_is_reported(ledger: Ledger) -> None:
    length = len(ledger.links())
    ledger.intruder.run(
        "DELETE FROM ledger_commit WHERE account_id = %s AND seq > %s",
        ledger.account.pk,
        length - 3,
    )
    problems = ledger.problems("--chain-only")
    assert ("cut", length) in [(problem["kind"], problem["seq"]) for problem in problems]


@pytest.mark.promise(28)
def test_restored_old_dump_is_reported(ledger: Ledger) -> None:
    """A restored dump lacks the commits and accounts that were signed after it."""
    dump = settings.CHECKPOINT_FILE.read_bytes()
    commit(ledger)
    makers.account("Newcomer")
    call_command("checkpoint", stdout=StringIO())
    assert ledger.problems() == []
    later = settings.CHECKPOINT_FILE.read_bytes()
    newcomer = ledger.intruder.one("SELECT id FROM accounts_account WHERE slug = 'newcomer'")
    for table in ("ledger_commit", "ledger_seal", "ledger_note", "ledger_checkpoint"):
        ledger.intruder.run(f"DELETE FROM {table} WHERE account_id = %s", newcomer)  # noqa: S608
    ledger.intruder.run("DELETE FROM accounts_account WHERE id = %s", newcomer)
    ledger.intruder.run(
        "DELETE FROM ledger_commit WHERE account_id = %s AND seq = %s",
        *(ledger.account.pk, len(ledger.links())),
    )
    assert {"account", "cut"} <= ledger.kinds()
    assert later.startswith(dump)


def test_checkpoint_signed_after_the_file_was_read_is_no_problem(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sign_first(address: Mapping[str, Any]) -> Any:
        commit(ledger)
        call_command("checkpoint", stdout=StringIO())
        return open_snapshot(address)

    monkeypatch.setattr("kmapp.ledger.fsck.open_snapshot", sign_first)
    signed = settings.CHECKPOINT_FILE.read_bytes()
    assert ledger.problems() == []
    assert len(settings.CHECKPOINT_FILE.read_bytes()) > len(signed)


def assert_not_signed() -> None:
    before = settings.CHECKPOINT_FILE.read_bytes()
    with pytest.raises(CommandError, match="1 chains are broken"):
        call_command("checkpoint", stdout=StringIO(), stderr=StringIO())
    assert settings.CHECKPOINT_FILE.read_bytes() == before


def test_replaced_and_broken_chains_are_not_signed(ledger: Ledger) -> None:
    links = ledger.links()
    ledger.intruder.rehash([replace(link, actor="system:0") for link in links], ledger.account.pk)
    assert_not_signed()
    ledger.intruder.rehash(links, ledger.account.pk)
    commit(ledger)
    ledger.intruder.run(
        "UPDATE ledger_commit SET actor = 'user:evil' WHERE account_id = %s AND seq = %s",
        *(ledger.account.pk, len(ledger.links())),
    )
    assert_not_signed()


def test_changes_of_the_file_are_reported(ledger: Ledger) -> None:
    file = settings.CHECKPOINT_FILE
    whole = file.read_bytes()
    first, second = whole.splitlines(keepends=True)
    edited = first.replace(b'"seq":', b'"seq":1')
    assert edited != first
    file.write_bytes(edited + second)
    assert ledger.kinds() == {"checkpoint"}
    file.write_bytes(whole + first[:50])
    assert "cut short by a crash" in makers.run_command("fsck"), "a warning"
    file.unlink()
    assert ledger.kinds() == {"checkpoint"}, "the database has copies"
    file.write_bytes(whole)
    own_key = Path(f"{settings.CHECKPOINT_KEY_FILE}.pub")
    settings.CHECKPOINT_KEY_FILE = settings.CHECKPOINT_KEY_FILE.with_name("another")
    commit(ledger)
    call_command("checkpoint", stdout=StringIO())
    [problem, *_] = ledger.problems("--public-key", str(own_key))
    assert "unknown key" in problem["message"]


# --- A database behind its checkpoint -------------------------------------------------------------


def cut_three_commits(ledger: Ledger) -> None:
    """Delete the last three commits, as after a restore; the checkpoint file stays current."""
    length = len(ledger.links())
    for table, column in (("ledger_commit", "seq"), ("ledger_checkpoint", "seq")):
        ledger.intruder.run(
            f"DELETE FROM {table} WHERE account_id = %s AND {column} > %s",  # noqa: S608
            *(ledger.account.pk, length - 3),
        )


def test_older_database_is_behind_its_checkpoint_until_the_file_is_replaced(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert list_deviations() == []
    cut_three_commits(ledger)
    [status] = list_deviations()
    assert status.account_id == ledger.account.pk
    assert status.signed_seq == status.last_seq + 3
    assert f"commit {status.signed_seq} was signed" in str(status)

    # A writer without the file of checkpoints does not notice; its commits are not signed.
    with monkeypatch.context() as patch:
        patch.setattr("kmapp.ledger.actions.find_last_signed", lambda account_id: None)
        for _ in range(4):
            commit(ledger)
    later = find_deviation(ledger.account.pk)
    assert later is not None
    assert later.last_seq > later.signed_seq
    assert "differs from the signed one" in str(later)
    assert_not_signed()

    # The database has a copy of the checkpoint of the other account only.
    settings.CHECKPOINT_FILE.rename(settings.CHECKPOINT_FILE.with_suffix(".before"))
    [other] = list_deviations()
    assert other.account_id != ledger.account.pk
    assert "CHECKPOINT_FILE does not have it" in str(other)
    # Without any checkpoint, also in the database, nothing shows the loss.
    ledger.intruder.run("DELETE FROM ledger_checkpoint")
    assert list_deviations() == []
    call_command("checkpoint", stdout=StringIO())
    assert list_deviations() == []


def test_startup_logs_a_chain_behind_its_checkpoint(
    ledger: Ledger, caplog: pytest.LogCaptureFixture
) -> None:
    cut_three_commits(ledger)
    [message] = json.loads(makers.run_command("prepare"))["behind"]
    assert str(ledger.account.pk) in message
    assert "was signed" in message
    assert message in BEHIND.format(accounts=message, command="kmapp")
    assert "ledger_behind_checkpoint" in caplog.text


class RecordingSupervisor(Supervisor):
    """Records the names of the programs, of which it runs only `prepare`, in this process."""

    steps: list[str]

    def start(self, *programs: Program) -> None:
        self.steps.extend(program.name for program in programs)

    def run(self, program: Program) -> str:
        self.steps.append(program.name)
        return makers.run_command(program.name)

    def wait(self, what: str, find_problem: Callable[[], str]) -> None:
        """Nothing has started."""

    def watch(self, hand_over: Callable[[], None]) -> None:
        """Nothing is to be restarted."""


def test_up_compares_the_chains_before_it_serves_and_prints_a_warning(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut_three_commits(ledger)
    steps: list[str] = []
    with monkeypatch.context() as patch:
        for service in ("DATABASE_URL", "REDIS_URL"):
            patch.setenv(service, "set, so that no server is started")
        values = {"DATA_DIR": tmp_path, "PORT": free_port(), "MCP_PORT": 0}
        for name, value in {**values, "EMBEDDING_IS_EMBEDDED": False}.items():
            patch.setattr(settings, name, value)
        patch.setattr(RecordingSupervisor, "steps", steps, raising=False)
        patch.setattr(up, "Supervisor", RecordingSupervisor)
        printed = makers.run_command("up")
    assert steps == ["prepare", "web", "worker", "beat"]
    assert "WARNING: the database differs from the last signed checkpoint." in printed
    assert f"account {ledger.account.pk}" in printed


def test_health_and_pages_report_a_chain_behind_its_checkpoint(ledger: Ledger) -> None:
    agent = Client(headers={"authorization": f"Bearer {makers.key(ledger.account)[1]}"})
    browser = Client()
    browser.force_login(makers.member(ledger.account, "looker", role="editor"))
    call_command("checkpoint", stdout=StringIO())
    cut_three_commits(ledger)
    body = agent.get("/v1/health").json()
    assert body["status"] != "ok"
    assert body["ledger"]["ok"] is False
    assert body["ledger"]["signed"] > body["ledger"]["ends"] > 0
    for page in ("/operations/", "/ledger/"):
        assert (
            "a checkpoint outside the database covers commit" in browser.get(page).content.decode()
        ), page
