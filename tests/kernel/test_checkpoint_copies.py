"""Copies of the checkpoint file: another path, and another kmapp that countersigns."""

import threading
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

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account, User
from kmapp.accounts.scopes import Scope
from kmapp.ledger import checkpoint_copy_thread
from kmapp.ledger.accept_loss import accept_loss
from kmapp.ledger.chain_deviations import find_deviation, list_deviations
from kmapp.ledger.checkpoint_copies import CopyFailed, FileCopy, Peer, list_configured_copies
from kmapp.ledger.checkpoint_copy_thread import (
    CopyThread,
    load_copy_status,
    restore_lost_statements,
)
from kmapp.ledger.checkpoint_file import CheckpointFile, get_checkpoint_file
from kmapp.ledger.checkpoints import sign_moved_heads
from kmapp.ledger.fsck import Findings
from kmapp.ledger.fsck import checkpoints as fsck
from kmapp.ledger.models import Commit
from kmapp.ledger.signing import (
    Statement,
    append_statements,
    compute_next_time,
    get_public_keys_path,
    is_countersigned_by,
    load_public_keys,
    load_signing_key,
    sign_statement,
)
from kmapp.runtime.embedded.temporary_servers import free_port
from tests import makers

pytestmark = pytest.mark.usefixtures("module_commits")
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
    sign_moved_heads()
    thread.run_once()
    own_statements = get_checkpoint_file().all()
    assert peer.load() == list(own_statements.values())
    peer_statements = countersigned().all()
    assert {each.statement for each in peer_statements.values()} == {
        e.statement for e in own_statements.values()
    }
    keys = load_public_keys(get_public_keys_path(settings.CHECKPOINT_KEY_FILE))
    assert all(is_countersigned_by(keys, each) for each in peer_statements.values())


def test_countersignature_of_another_key_is_refused(
    peer: Peer, acme: Account, settings: Settings, tmp_path: Path
) -> None:
    sign_moved_heads()
    own_statements = list(get_checkpoint_file().all().values())
    settings.CHECKPOINT_PEER_PUBLIC_KEYS = str(get_public_keys_path(settings.CHECKPOINT_KEY_FILE))
    peer.store(own_statements)
    load_signing_key(tmp_path / "other")
    settings.CHECKPOINT_PEER_PUBLIC_KEYS = str(get_public_keys_path(tmp_path / "other"))
    with pytest.raises(CopyFailed, match="not of the peer's key"):
        peer.store(own_statements)


def test_peer_that_countersigns_nothing_stores_nothing(
    peer: Peer, acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    sign_moved_heads()
    own_statements = list(get_checkpoint_file().all().values())
    others: list[Any] = [[], [own_statements[0].record()] * (len(own_statements) + 1)]
    for answer in (None, *({"checkpoints": records} for records in others)):
        monkeypatch.setattr(Peer, "_request", lambda *_args, answer=answer: answer)
        with pytest.raises(CopyFailed, match="other statements"):
            peer.store(own_statements)


def test_answer_of_the_peer_is_not_our_own_checkpoint(
    peer: Peer, acme: Account, tmp_path: Path
) -> None:
    """The peer is this kmapp, so it countersigns with the key that signs our own checkpoints."""
    sign_moved_heads()
    own_statements = get_checkpoint_file().all()
    own = own_statements[acme.pk]
    path = get_public_keys_path(settings.CHECKPOINT_KEY_FILE)
    for head in (None, own.statement.head):  # a later head, and an accepted loss
        later = replace(own.statement, seq=99, created_at=timezone.now(), replaces=head)
        peer.store([replace(own, statement=later)])
        answer = countersigned().all()[acme.pk]
        assert answer.statement == later
        assert get_checkpoint_file().is_missing(answer)
        restore_lost_statements([answer], "peer")
        assert get_checkpoint_file().all() == own_statements
        file = tmp_path / "answer.ndjson"
        file.write_bytes(answer.line() + b"\n")
        fsck.read_checkpoints(file, fsck.load_public_keys([path]), findings := Findings())
        assert [each.message for each in findings.problems] == [
            f"line 1 of {file} differs from what was signed"
        ]


def test_peer_file_has_a_limit_of_accounts(
    peer: Peer, acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = load_signing_key(settings.CHECKPOINT_KEY_FILE)
    one, two, later = (
        sign_statement(
            key, Statement(account=UUID(int=n), seq=seq, commit_hash="ab", created_at=NOON)
        )
        for n, seq in ((1, 1), (2, 1), (1, 2))
    )
    monkeypatch.setattr("kmapp.ledger.peer_checkpoints.MAX_ACCOUNTS", 1)
    peer.store([one])
    with pytest.raises(CopyFailed, match="409"):
        peer.store([two])
    peer.store([later])
    assert peer.load() == [later]


def test_peer_refuses_to_go_back(peer: Peer, acme: Account, agent: Client) -> None:
    _key, secret = makers.key(acme, scopes=[Scope.LEDGER_COUNTERSIGN])
    client = Client(headers={"Authorization": f"Bearer {secret}"})
    sign_moved_heads()
    before = get_checkpoint_file().all()[acme.pk].record()
    makers.key(acme)
    sign_moved_heads()
    later = get_checkpoint_file().all()[acme.pk].record()

    def post(record: dict[str, Any]) -> Any:
        return client.post("/v1/checkpoints", {"checkpoints": [record]}, "application/json")

    assert [post(record).status_code for record in (later, later, before)] == [200, 200, 409]
    assert post(before).json()["details"]["newest"] == later
    assert client.get("/v1/checkpoints").json() == {"checkpoints": [later]}
    assert agent.get("/v1/checkpoints").status_code == 200  # the key of the fixture has all scopes
    assert post({**later, "note": "x"}).status_code == 400
    _key, secret = makers.key(acme, scopes=[Scope.MEMORY_READ])
    stranger = Client(headers={"Authorization": f"Bearer {secret}"})
    assert stranger.get("/v1/checkpoints").status_code == 403


def test_refused_statement_keeps_no_other_from_being_stored(
    peer: Peer, acme: Account, rival: Account
) -> None:
    sign_moved_heads()
    own, other = (get_checkpoint_file().all()[each.pk] for each in (acme, rival))
    peer.store([own])
    key = load_signing_key(settings.CHECKPOINT_KEY_FILE)
    fork = sign_statement(key, replace(own.statement, commit_hash="0" * 64))
    with pytest.raises(CopyFailed, match="409"):
        peer.store([fork, other])
    assert peer.load() == [own, other]


def test_refused_statement_keeps_no_later_part_from_being_sent(
    peer: Peer, acme: Account, rival: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kmapp.ledger.checkpoint_copies.MAX_STATEMENTS", 1)
    sign_moved_heads()
    own, other = (get_checkpoint_file().all()[each.pk] for each in (acme, rival))
    peer.store([own])
    key = load_signing_key(settings.CHECKPOINT_KEY_FILE)
    fork = sign_statement(key, replace(own.statement, commit_hash="0" * 64))
    with pytest.raises(CopyFailed, match="409"):
        peer.store([fork, other])
    assert peer.load() == [own, other]
    assert countersigned().all()[rival.pk].statement == other.statement


def test_statement_is_later_than_the_one_before_under_any_clock(acme: Account) -> None:
    before = timezone.now()
    ahead = before + timedelta(hours=1)
    assert compute_next_time(ahead) == ahead + timedelta(microseconds=1)
    assert compute_next_time(before) > before
    assert compute_next_time(None) >= before


@pytest.fixture(params=["file", "peer"])
def copy(request: pytest.FixtureRequest, tmp_path: Path) -> FileCopy | Peer:
    if request.param == "file":
        return FileCopy(tmp_path / "elsewhere" / "copy.ndjson")
    peer: Peer = request.getfixturevalue("peer")
    return peer


def test_lost_checkpoints_come_back_from_the_copy(copy: FileCopy | Peer, acme: Account) -> None:
    """After a restore of the whole data folder, the file is as old as the database."""
    sign_moved_heads()
    old = settings.CHECKPOINT_FILE.read_bytes()
    makers.key(acme)
    sign_moved_heads()
    thread = CopyThread(copy)
    thread.run_once()
    newest = get_checkpoint_file().all()
    settings.CHECKPOINT_FILE.unlink()
    settings.CHECKPOINT_FILE.write_bytes(old)
    assert get_checkpoint_file().all() != newest
    CopyThread(copy).run_once()
    assert get_checkpoint_file().all() == newest
    assert list_deviations() == []


def test_accepted_loss_is_not_undone_by_the_copy(tmp_path: Path, acme: Account) -> None:
    makers.set_policy(acme, {"redact": ["email"]})
    copy = FileCopy(tmp_path / "copy.ndjson")
    later = Statement(account=acme.pk, seq=99, commit_hash="ab" * 32, created_at=timezone.now())
    key = load_signing_key(settings.CHECKPOINT_KEY_FILE)
    append_statements(settings.CHECKPOINT_FILE, [sign_statement(key, later)])
    CopyThread(copy).run_once()
    assert find_deviation(acme.pk) is not None
    accept_loss(acme.pk, SYSTEM, reason="A drill. Write to ada@example.test.")
    with acting(acme):
        reason = Commit.objects.of(acme).select_related("note").latest("seq").note.reason
    assert reason.startswith("A drill. Write to ")
    assert "ada@example.test" not in reason
    makers.key(acme)
    sign_moved_heads()
    CopyThread(copy).run_once()
    assert find_deviation(acme.pk) is None
    assert copy.file.all() == get_checkpoint_file().all()
    accepted, newest = (each for each in copy.load() if each.statement.account == acme.pk)
    assert (accepted.statement.replaces, newest.statement.replaces) == (later.head, None)


def test_failed_copies_are_counted_shown_and_tried_again(
    settings: Settings, acme: Account, agent: Client
) -> None:
    settings.CHECKPOINT_PEER_URL = f"http://127.0.0.1:{free_port()}"
    settings.CHECKPOINT_PEER_KEY = "none"
    [copy] = list_configured_copies()
    name, before = "kmapp_checkpoint_copy_failures_total", {"copy": "peer"}
    failures = REGISTRY.get_sample_value(name, before) or 0
    thread = CopyThread(copy)
    thread.run_once()
    assert REGISTRY.get_sample_value(name, before) == failures + 1
    sign_moved_heads()
    part = agent.get("/v1/health").json()["ledger"]
    error = "The peer could not be reached."
    assert (part["ok"], part["copies"]["peer"]["error"]) == (False, error)
    owner = makers.member(acme, "owner", role="admin")
    User.objects.filter(pk=owner.pk).update(is_superuser=True)
    assert error in makers.signed_in(owner).get("/operations/").content.decode()
    assert load_copy_status().keys() == {"peer"}


def test_copy_that_does_not_answer_delays_the_scheduler_only_for_a_while(
    tmp_path: Path, acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    sign_moved_heads()
    answers = threading.Event()
    hung, copy = FileCopy(tmp_path / "hung.ndjson"), FileCopy(tmp_path / "copy.ndjson")
    load = hung.load
    monkeypatch.setattr(hung, "load", lambda: load() if answers.wait(60) else [])
    monkeypatch.setattr(checkpoint_copy_thread, "list_configured_copies", lambda: [copy, hung])
    monkeypatch.setattr(checkpoint_copy_thread, "START_SECONDS", 0.5)
    threads = checkpoint_copy_thread.start_copy_threads()
    assert not threads[1].has_run.is_set()
    answers.set()
    for thread in threads:
        assert thread.has_run.wait(60)
        thread.stopping.set()
        thread.join()
    assert copy.file.all() == hung.file.all() == get_checkpoint_file().all()
