"""Copies of the checkpoint file: another path, and another kmapp that countersigns."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.conf import settings
from django.test import Client
from django.utils import timezone
from prometheus_client import REGISTRY
from pytest_django import Settings

from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account, User
from kmapp.accounts.scopes import Scope
from kmapp.ledger.accept_loss import accept_loss
from kmapp.ledger.checkpoint_copies import CopyFailed, FileCopy, Peer, configured_copies
from kmapp.ledger.checkpoint_file import CheckpointFile, checkpoint_file
from kmapp.ledger.checkpoint_status import all_behind, behind
from kmapp.ledger.checkpoints import checkpoint_moved
from kmapp.ledger.copy_thread import CopyThread, adopt, load_copy_status
from kmapp.ledger.fsck import Findings
from kmapp.ledger.fsck import checkpoints as fsck
from kmapp.ledger.signing import (
    Statement,
    append,
    is_countersigned_by,
    next_time,
    public_keys,
    public_path,
    sign,
    signing_key,
)
from kmapp.runtime.embedded.temporary import free_port
from tests import makers

NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)


def countersigned() -> CheckpointFile:
    return CheckpointFile(settings.CHECKPOINT_FILE.with_name("countersigned.ndjson"))


@pytest.fixture
def peer(site: str, rival: Account) -> Peer:
    """Return another kmapp (this one, in the role of its account Rival)."""
    _key, secret = makers.key(rival, scopes=[Scope.LEDGER_COUNTERSIGN])
    return Peer(site, secret)


def test_peer_stores_and_countersigns(peer: Peer, acme: Account) -> None:
    thread = CopyThread(peer)
    checkpoint_moved()
    thread.run_once()
    ours = checkpoint_file().all()
    assert peer.load() == list(ours.values())
    theirs = countersigned().all()
    assert {each.statement for each in theirs.values()} == {e.statement for e in ours.values()}
    keys = public_keys(public_path(settings.CHECKPOINT_KEY_FILE))
    assert all(is_countersigned_by(keys, each) for each in theirs.values())


def test_countersignature_of_another_key_is_refused(
    peer: Peer, acme: Account, settings: Settings, tmp_path: Path
) -> None:
    checkpoint_moved()
    ours = list(checkpoint_file().all().values())
    settings.CHECKPOINT_PEER_PUBLIC_KEYS = str(public_path(settings.CHECKPOINT_KEY_FILE))
    peer.store(ours)
    signing_key(tmp_path / "other")
    settings.CHECKPOINT_PEER_PUBLIC_KEYS = str(public_path(tmp_path / "other"))
    with pytest.raises(CopyFailed, match="not of the peer's key"):
        peer.store(ours)


def test_answer_of_the_peer_is_not_our_own_checkpoint(
    peer: Peer, acme: Account, tmp_path: Path
) -> None:
    """The peer is this kmapp, so its key is the one whose checkpoints are adopted and expected."""
    checkpoint_moved()
    ours = checkpoint_file().all()
    own = ours[acme.pk]
    path = public_path(settings.CHECKPOINT_KEY_FILE)
    for head in (None, own.statement.head):  # a later head, and an accepted loss
        later = replace(own.statement, seq=99, created_at=timezone.now(), replaces=head)
        peer.store([replace(own, statement=later)])
        answer = countersigned().all()[acme.pk]
        assert answer.statement == later
        assert checkpoint_file().lacks(answer)
        adopt([answer], "peer")
        assert checkpoint_file().all() == ours
        file = tmp_path / "answer.ndjson"
        file.write_bytes(answer.line() + b"\n")
        fsck.read(file, fsck.public_keys([path]), findings := Findings())
        assert [each.message for each in findings.problems] == [
            f"line 1 of {file} differs from what was signed"
        ]


def test_peer_file_has_a_limit_of_accounts(
    peer: Peer, acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = signing_key(settings.CHECKPOINT_KEY_FILE)
    one, two, later = (
        sign(key, Statement(account=UUID(int=n), seq=seq, commit_hash="ab", created_at=NOON))
        for n, seq in ((1, 1), (2, 1), (1, 2))
    )
    monkeypatch.setattr("kmapp.ledger.countersign.MOST_ACCOUNTS", 1)
    peer.store([one])
    with pytest.raises(CopyFailed, match="409"):
        peer.store([two])
    peer.store([later])
    assert peer.load() == [later]


def test_peer_refuses_to_go_back(peer: Peer, acme: Account, agent: Client) -> None:
    _key, secret = makers.key(acme, scopes=[Scope.LEDGER_COUNTERSIGN])
    client = Client(headers={"Authorization": f"Bearer {secret}"})
    checkpoint_moved()
    before = checkpoint_file().all()[acme.pk].record()
    makers.key(acme)
    checkpoint_moved()
    later = checkpoint_file().all()[acme.pk].record()

    def post(record: dict[str, Any]) -> Any:
        return client.post("/v1/checkpoints", {"checkpoints": [record]}, "application/json")

    assert [post(record).status_code for record in (later, later, before)] == [200, 200, 409]
    assert post(before).json()["details"]["newest"] == later
    assert client.get("/v1/checkpoints").json() == {"checkpoints": [later]}
    assert agent.get("/v1/checkpoints").status_code == 200  # the fixture's key may do everything
    assert post({**later, "note": "x"}).status_code == 400
    _key, secret = makers.key(acme, scopes=[Scope.MEMORY_READ])
    stranger = Client(headers={"Authorization": f"Bearer {secret}"})
    assert stranger.get("/v1/checkpoints").status_code == 403


def test_refused_statement_keeps_no_other_from_being_stored(
    peer: Peer, acme: Account, rival: Account
) -> None:
    checkpoint_moved()
    mine, other = (checkpoint_file().all()[each.pk] for each in (acme, rival))
    peer.store([mine])
    key = signing_key(settings.CHECKPOINT_KEY_FILE)
    fork = sign(key, replace(mine.statement, commit_hash="0" * 64))
    with pytest.raises(CopyFailed, match="409"):
        peer.store([fork, other])
    assert peer.load() == [mine, other]


def test_statement_is_later_than_the_one_before_under_any_clock(acme: Account) -> None:
    before = Statement(account=acme.pk, seq=1, commit_hash="0" * 64, created_at=timezone.now())
    ahead = replace(before, created_at=before.created_at + timedelta(hours=1))
    assert next_time(ahead) == ahead.created_at + timedelta(microseconds=1)
    assert next_time(before) > before.created_at
    assert next_time(None) >= before.created_at


@pytest.fixture(params=["file", "peer"])
def copy(request: pytest.FixtureRequest, tmp_path: Path) -> FileCopy | Peer:
    if request.param == "file":
        request.getfixturevalue("committed")
        return FileCopy(tmp_path / "elsewhere" / "copy.ndjson")
    peer: Peer = request.getfixturevalue("peer")
    return peer


def test_lost_checkpoints_come_back_from_the_copy(copy: FileCopy | Peer, acme: Account) -> None:
    """The whole data folder was put back: the file is as old as the database."""
    checkpoint_moved()
    old = settings.CHECKPOINT_FILE.read_bytes()
    makers.key(acme)
    checkpoint_moved()
    thread = CopyThread(copy)
    thread.run_once()
    newest = checkpoint_file().all()
    settings.CHECKPOINT_FILE.unlink()
    settings.CHECKPOINT_FILE.write_bytes(old)
    assert checkpoint_file().all() != newest
    CopyThread(copy).run_once()
    assert checkpoint_file().all() == newest
    assert all_behind() == []


def test_accepted_loss_is_not_undone_by_the_copy(
    tmp_path: Path, committed: str, acme: Account
) -> None:
    copy = FileCopy(tmp_path / "copy.ndjson")
    later = Statement(account=acme.pk, seq=99, commit_hash="ab" * 32, created_at=timezone.now())
    key = signing_key(settings.CHECKPOINT_KEY_FILE)
    append(settings.CHECKPOINT_FILE, [sign(key, later)])
    CopyThread(copy).run_once()
    assert behind(acme.pk) is not None
    accept_loss(acme.pk, SYSTEM, reason="A drill.")
    makers.key(acme)
    checkpoint_moved()
    CopyThread(copy).run_once()
    assert behind(acme.pk) is None
    assert copy.file.all() == checkpoint_file().all()
    accepted, newest = copy.load()
    assert (accepted.statement.replaces, newest.statement.replaces) == (later.head, None)


def test_failed_copies_are_counted_shown_and_tried_again(
    settings: Settings, committed: str, acme: Account, agent: Client
) -> None:
    settings.CHECKPOINT_PEER_URL = f"http://127.0.0.1:{free_port()}"
    settings.CHECKPOINT_PEER_KEY = "none"
    [copy] = configured_copies()
    name, before = "kmapp_checkpoint_copy_failures_total", {"copy": "peer"}
    failures = REGISTRY.get_sample_value(name, before) or 0
    thread = CopyThread(copy)
    thread.run_once()
    assert REGISTRY.get_sample_value(name, before) == failures + 1
    checkpoint_moved()
    part = agent.get("/v1/health").json()["ledger"]
    error = "The peer could not be reached."
    assert (part["ok"], part["copies"]["peer"]["error"]) == (False, error)
    owner = makers.member(acme, "owner", role="admin")
    User.objects.filter(pk=owner.pk).update(is_superuser=True)
    assert error in makers.signed_in(owner).get("/operations/").content.decode()
    assert load_copy_status().keys() == {"peer"}


def test_forged_statement_of_a_copy_is_refused(tmp_path: Path, acme: Account) -> None:
    checkpoint_moved()
    ours = checkpoint_file().all()
    forged = replace(ours[acme.pk].statement, seq=99)
    path = tmp_path / "copy.ndjson"
    append(path, [replace(ours[acme.pk], statement=forged)])
    CopyThread(FileCopy(path)).run_once()
    assert checkpoint_file().all() == ours
