"""A database that was put back to an earlier day runs, and everybody is told."""

import io
import json

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.test import Client

from kmapp.accounts.acting import acting
from kmapp.accounts.actions import update_account
from kmapp.accounts.actors import SYSTEM
from kmapp.ledger.checkpoints import all_behind, behind
from kmapp.management.commands.up import BEHIND
from tests import makers
from tests.kernel.fsck.fixtures import Ledger


@pytest.fixture
def put_back(ledger: Ledger) -> Ledger:
    """The database as it was three commits ago, with the file of now; nothing in it is amiss."""
    length = len(ledger.links())
    for table, column in (("ledger_commit", "seq"), ("ledger_checkpoint", "seq")):
        ledger.intruder.run(
            f"DELETE FROM {table} WHERE account_id = %s AND {column} > %s",  # noqa: S608
            *(ledger.account.pk, length - 3),
        )
    return ledger


def test_a_chain_that_reaches_its_last_checkpoint_is_not_behind(ledger: Ledger) -> None:
    assert all_behind() == []


def test_older_database_is_behind_the_checkpoint(put_back: Ledger) -> None:
    [found] = all_behind()
    assert found.account_id == put_back.account.pk
    assert found.signed == found.ends + 3
    assert f"commit {found.signed} was signed" in str(found)


def test_new_commits_on_an_old_database_are_not_signed(put_back: Ledger) -> None:
    for _ in range(4):
        with acting(put_back.account):
            update_account(put_back.account, redact=[], account_wide="apply", actor=SYSTEM)
    found = behind(put_back.account.pk)
    assert found is not None
    assert found.ends > found.signed
    assert "differs from the signed one" in str(found)
    before = settings.CHECKPOINT_FILE.read_bytes()
    with pytest.raises(CommandError, match="1 chains are broken"):
        call_command("checkpoint", stdout=io.StringIO(), stderr=io.StringIO())
    assert settings.CHECKPOINT_FILE.read_bytes() == before


def test_startup_logs_a_chain_behind_its_checkpoint(
    put_back: Ledger, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    out = io.StringIO()
    call_command("prepare", stdout=out, stderr=io.StringIO())
    [said] = json.loads(out.getvalue())["behind"]
    assert str(put_back.account.pk) in said
    assert "was signed" in said
    assert said in BEHIND.format(accounts=said, command="kmapp")
    assert "ledger_behind_checkpoint" in caplog.text


def test_health_and_pages_report_a_chain_behind_its_checkpoint(put_back: Ledger) -> None:
    agent = Client(headers={"authorization": f"Bearer {makers.key(put_back.account)[1]}"})
    body = agent.get("/v1/health").json()
    assert body["status"] != "ok"
    assert body["ledger"]["ok"] is False
    assert body["ledger"]["signed"] > body["ledger"]["ends"] > 0
    browser = Client()
    browser.force_login(makers.member(put_back.account, "looker", role="reviewer"))
    for page in ("/operations/", "/ledger/"):
        assert (
            "a checkpoint outside the database covers commit" in browser.get(page).content.decode()
        ), page


def test_new_checkpoint_file_accepts_the_current_chain(put_back: Ledger) -> None:
    """Who accepts the loss puts the backup's own file in its place."""
    assert all_behind() != []
    settings.CHECKPOINT_FILE.rename(settings.CHECKPOINT_FILE.with_suffix(".before"))
    assert all_behind() == []
    call_command("checkpoint", stdout=io.StringIO())
    assert all_behind() == []
