"""A database restored from an older copy is reported, and read-only until it is accepted."""

import json
from collections.abc import Iterator
from contextlib import suppress
from io import StringIO
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connections
from django.test import Client
from django.utils import timezone
from prometheus_client import REGISTRY
from structlog.testing import capture_logs

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account, User
from kmapp.database.backup.restore import restore_checkpoints
from kmapp.errors import ReadOnly
from kmapp.ledger.chain_deviations import find_deviation, find_last_signed, list_deviations
from kmapp.ledger.checkpoint_copies import FileCopy
from kmapp.ledger.checkpoint_copy_thread import CopyThread
from kmapp.ledger.checkpoint_thread import CheckpointThread
from kmapp.ledger.models import Commit
from kmapp.ledger.signing import (
    Statement,
    append_statements,
    get_public_keys_path,
    load_signing_key,
    sign_statement,
)
from tests import makers
from tests.databases import clone, drop, use_database
from tests.makers import missing

LOST = "An older copy of the database was put back"


def write(agent: Client, text: str) -> Any:
    body = {"input_text": text, "nodes": [{"type": "event", "text": text}]}
    return agent.post("/v1/memory/write", body, "application/json")


def fsck() -> dict[str, Any]:
    out = StringIO()
    with suppress(CommandError):  # the command fails if it finds problems
        call_command("fsck", "--json", stdout=out)
    report: dict[str, Any] = json.loads(out.getvalue())
    return report


@pytest.fixture
def older(
    committed: str, acme: Account, agent: Client, admin: Client, reviewer: Client
) -> Iterator[str]:
    """Return a copy of the database from before its last commits, which are signed."""
    name = f"{committed}_older"
    assert write(agent, "The tea room opens at nine.").status_code == 201
    connections.close_all()
    clone(name, template=committed)
    try:
        makers.account("Newcomer")
        assert write(agent, "The tea room closes at five.").status_code == 201
        CheckpointThread().run_once()
        assert agent.get("/v1/memory/verify").json()["ok"] is True
        assert agent.get("/v1/health").json()["ledger"] == {"ok": True}
        yield name
    finally:
        drop(name)
        use_database(committed)


@pytest.mark.promise(28, 43)
def test_older_copy_of_the_whole_store_is_reported(
    older: str, acme: Account, agent: Client
) -> None:
    signed = settings.CHECKPOINT_FILE.read_bytes()
    use_database(older)
    text = agent.get("/v1/memory/verify").json()
    assert (text["ok"], text["problems"]) == (False, [find_deviation(acme.pk).explanation])  # type: ignore[union-attr]
    assert LOST in text["problems"][0]
    part = agent.get("/v1/health").json()["ledger"]
    assert (part["ok"], part["message"]) == (False, text["problems"][0])
    assert {problem["kind"] for problem in fsck()["problems"]} == {"account", "cut"}
    thread = CheckpointThread()
    with capture_logs() as lines:
        thread.run_once()
        thread.run_once()
    assert [line["event"] for line in lines] == ["ledger_behind_checkpoint"] * 2  # two accounts
    assert REGISTRY.get_sample_value("kmapp_ledger_accounts_behind") == 2
    assert settings.CHECKPOINT_FILE.read_bytes() == signed


@pytest.mark.promise(43)
def test_read_only_account_is_read_and_accepted_by_an_admin(
    older: str, acme: Account, agent: Client, admin: Client, reviewer: Client
) -> None:
    use_database(older)
    refused = write(agent, "The tea room moved.")
    assert (refused.status_code, refused.headers["Retry-After"]) == (503, "60")
    assert refused.json()["error"] == "read_only"
    assert missing(refused.json()["message"], LOST, "accept_ledger") == []
    recalled = agent.post("/v1/memory/recall_text", {"query": "tea"}, "application/json")
    assert recalled.status_code == 200

    assert "Accept this state" not in reviewer.get("/ledger/").content.decode()
    assert reviewer.get("/ledger/accept/").status_code == 403
    for page in ("/ledger/", "/operations/", "/ledger/summary/"):
        assert 'href="/ledger/accept/"' in admin.get(page).content.decode(), page
    assert "The database ends at commit" in admin.get("/ledger/accept/").content.decode()
    assert admin.post("/ledger/accept/", {"reason": ""}).status_code == 422
    assert write(agent, "The tea room moved.").status_code == 503
    assert admin.post("/ledger/accept/", {"reason": "The disk died."}).status_code == 302

    with acting(acme):
        commit = Commit.objects.of(acme).select_related("note").latest("seq")
    assert (commit.diff[0]["op"], commit.note.reason) == ("ACCEPT", "The disk died.")
    assert commit.actor.startswith("user:")
    assert (commit.note.input or {})["replaced"]["seq"] >= commit.seq
    assert agent.get("/v1/health").json()["ledger"] == {"ok": True}
    assert admin.post("/ledger/accept/", {"reason": "Again."}).status_code == 409
    assert write(agent, "The tea room moved.").status_code == 201
    CheckpointThread().run_once()
    assert agent.get("/v1/memory/verify").json()["ok"] is True

    # After a return to the newest copy, a person must decide again.
    use_database(older.removesuffix("_older"))
    assert write(agent, "Two histories.").status_code == 503
    assert "rewritten" in {problem["kind"] for problem in fsck()["problems"]}


def test_owner_of_the_installation_sees_that_other_accounts_are_missing(
    older: str, ada: User, admin: Client
) -> None:
    use_database(older)
    text = "1 other account of this installation is read-only or missing"
    assert text not in admin.get("/operations/").text
    User.objects.filter(pk=ada.pk).update(is_superuser=True)
    response = admin.get("/operations/")
    assert text in response.text
    [other] = response.context["others_behind"]
    assert str(other) == "ends at commit 0, but commit 1 was signed"


@pytest.mark.promise(43)
def test_start_compares_with_a_copy_before_anything_is_written(
    older: str, acme: Account, agent: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The whole data folder was put back, so that the checkpoint file is as old as the database."""
    path = tmp_path / "elsewhere" / "copy.ndjson"
    CopyThread(FileCopy(path)).run_once()
    monkeypatch.setattr(settings, "CHECKPOINT_COPY_FILE", str(path))
    use_database(older)
    settings.CHECKPOINT_FILE.unlink()  # nothing was signed at that time
    assert find_deviation(acme.pk) is None, "without the copy, nothing shows the loss"
    out = StringIO()
    call_command("prepare", stdout=out, stderr=StringIO())
    behind = json.loads(out.getvalue())["behind"]
    assert len(behind) == 2
    assert any(str(acme.pk) in each for each in behind)
    assert write(agent, "The tea room moved.").status_code == 503


@pytest.mark.promise(43)
def test_account_without_its_checkpoint_file_is_read_only(
    committed: str, acme: Account, agent: Client, admin: Client
) -> None:
    assert write(agent, "The tea room opens at nine.").status_code == 201
    call_command("checkpoint", stdout=StringIO())
    signed = settings.CHECKPOINT_FILE.read_bytes()
    settings.CHECKPOINT_FILE.unlink()
    refused = write(agent, "The tea room moved.")
    assert (refused.status_code, refused.json()["error"]) == (503, "read_only")
    assert missing(refused.json()["message"], "CHECKPOINT_FILE is missing", "accept_ledger") == []
    assert agent.get("/v1/health").json()["ledger"]["message"] == refused.json()["message"]
    assert "CHECKPOINT_FILE" in " ".join(map(str, list_deviations()))
    for page in ("/ledger/", "/operations/", "/ledger/summary/", "/ledger/accept/"):
        text = admin.get(page).content.decode()
        assert "the checkpoint file" in text, page
        assert "put the newest copy back" not in text, "the message names the file to restore"
    CheckpointThread().run_once()
    assert not settings.CHECKPOINT_FILE.exists(), "no head is signed that nothing was compared with"

    settings.CHECKPOINT_FILE.write_bytes(signed)
    assert write(agent, "The tea room moved.").status_code == 201
    call_command("checkpoint", stdout=StringIO())
    settings.CHECKPOINT_FILE.unlink()
    assert admin.post("/ledger/accept/", {"reason": "The disk died."}).status_code == 302
    assert write(agent, "The tea room closed.").status_code == 201
    CheckpointThread().run_once()
    assert agent.get("/v1/memory/verify").json()["ok"] is True
    assert fsck()["problems"] == []


@pytest.mark.parametrize("module", ["actions", "chain_deviations"])
def test_checkpoint_signed_and_copied_after_the_file_was_read_is_not_missing(
    acme: Account, agent: Client, monkeypatch: pytest.MonkeyPatch, module: str
) -> None:
    call_command("checkpoint", stdout=StringIO())
    is_first = [True]
    monkeypatch.setattr(
        f"kmapp.ledger.{module}.find_last_signed",
        lambda account_id: None if is_first and is_first.pop() else find_last_signed(account_id),
    )
    if module == "actions":
        assert write(agent, "The tea room opens at nine.").status_code == 201
    else:
        assert find_deviation(acme.pk) is None
    assert not is_first


def test_restore_adds_checkpoints_of_accounts_that_the_file_lacks(
    committed: str, acme: Account, tmp_path: Path
) -> None:
    CheckpointThread().run_once()
    signed = settings.CHECKPOINT_FILE.read_bytes()
    call_command("backup", str(tmp_path / "kmapp.zip"), stdout=StringIO())
    settings.CHECKPOINT_FILE.unlink()
    other = Statement(account=UUID(int=1), seq=1, commit_hash="ab", created_at=timezone.now())
    key = load_signing_key(settings.CHECKPOINT_KEY_FILE)
    append_statements(settings.CHECKPOINT_FILE, [sign_statement(key, other)])
    line = settings.CHECKPOINT_FILE.read_bytes()

    def restore() -> bool:
        return restore_checkpoints(
            tmp_path / "kmapp.zip",
            checkpoints_path=settings.CHECKPOINT_FILE,
            keys_path=get_public_keys_path(settings.CHECKPOINT_KEY_FILE),
        )

    assert restore()
    assert settings.CHECKPOINT_FILE.read_bytes() == line + signed
    assert not restore(), "nothing is added twice"
    assert settings.CHECKPOINT_FILE.read_bytes() == line + signed


@pytest.mark.promise(46)
def test_writes_and_jobs_wait_while_the_checkpoints_cannot_be_read(
    acme: Account, agent: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert write(agent, "The tea room opens at nine.").status_code == 201
    with monkeypatch.context() as context:
        (tmp_path / "file").touch()
        context.setattr(settings, "CHECKPOINT_FILE", tmp_path / "file" / "checkpoints.ndjson")
        refused = write(agent, "The tea room moved.")
        assert (refused.status_code, refused.headers["Retry-After"]) == (503, "60")
        assert refused.json()["error"] == "unavailable"
        with acting(acme), pytest.raises(ReadOnly):
            find_deviation(acme.pk)
        recalled = agent.post("/v1/memory/recall_text", {"query": "tea"}, "application/json")
        assert recalled.status_code == 200
    assert write(agent, "The tea room moved.").status_code == 201


def test_command_accepts_all_accounts_and_missing_ones(
    older: str, acme: Account, agent: Client
) -> None:
    use_database(older)
    with pytest.raises(CommandError, match="Add --reason"):
        call_command("accept_ledger", "acme", stdout=StringIO())
    with pytest.raises(CommandError, match="Not listed: nobody"):
        call_command("accept_ledger", "nobody", reason="x", stdout=StringIO())
    out = StringIO()
    names = ["acme", str(acme.pk)]  # the same account
    call_command("accept_ledger", *names, reason="A drill.", stdout=out)
    call_command("accept_ledger", all=True, reason="A drill.", stdout=out)
    assert missing(out.getvalue(), "acme", "missing account", "accepted at commit 0") == []
    CheckpointThread().run_once()
    assert REGISTRY.get_sample_value("kmapp_ledger_accounts_behind") == 0
    assert write(agent, "The tea room moved.").status_code == 201
    call_command("checkpoint", stdout=StringIO())
    report = fsck()
    assert report["problems"] == []
    assert sum("was signed and given up" in note for note in report["notes"]) == 2


@pytest.mark.promise(43)
@pytest.mark.parametrize("by", [None, "Una@example.test"])
def test_command_names_the_superuser_who_accepts(older: str, acme: Account, by: str | None) -> None:
    use_database(older)
    accept = {"reason": "A drill.", "stdout": StringIO()}
    una = User.objects.create_superuser("una", "una@example.test")
    if by:
        User.objects.create_superuser("vic", "vic@example.test")
        User.objects.create_superuser("wim", "wim@example.test", is_active=False)
        with pytest.raises(CommandError, match=r"Add --by .*: una@example.test, vic@example.test."):
            call_command("accept_ledger", "acme", **accept)
        with pytest.raises(CommandError, match=r"wim@example.test is no active superuser"):
            call_command("accept_ledger", "acme", by="wim@example.test", **accept)
    call_command("accept_ledger", "acme", by=by, **accept)
    with acting(acme):
        commit = Commit.objects.of(acme).latest("seq")
    assert (commit.actor, commit.diff[0]["op"]) == (f"user:{una.pk}", "ACCEPT")
