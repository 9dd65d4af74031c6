"""A faulty network to another kmapp that countersigns checkpoints."""

import time
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from kmapp.accounts.models import Account
from kmapp.accounts.scopes import Scope
from kmapp.ledger import checkpoint_copies
from kmapp.ledger.checkpoint_copies import list_configured_copies
from kmapp.ledger.checkpoint_copy_thread import CopyThread
from kmapp.ledger.checkpoint_file import get_checkpoint_file
from kmapp.ledger.checkpoints import sign_moved_heads
from tests import makers
from tests.chaos.proxy import BREAKING, PATIENCE, SERVICE_FAULTS, SILENT, Proxy, choose_deadline

pytestmark = [pytest.mark.usefixtures("module_commits"), pytest.mark.promise(41)]
MOST = 15.0  # seconds of a call during a fault


@pytest.fixture
def link(site: str, rival: Account, settings: Settings) -> Iterator[Proxy]:
    """Yield the link to another kmapp (this one, in the role of its account Rival)."""
    _key, secret = makers.key(rival, scopes=[Scope.LEDGER_COUNTERSIGN])
    with Proxy(int(site.rpartition(":")[2])).serving() as proxy:
        settings.CHECKPOINT_PEER_URL = f"http://127.0.0.1:{proxy.port}"
        settings.CHECKPOINT_PEER_KEY = secret
        yield proxy


@pytest.mark.parametrize("fault", SERVICE_FAULTS)
def test_checkpoints_are_copied_after_the_fault(
    link: Proxy, acme: Account, agent: Client, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    """Signing continues during the fault, and health reports the copy that is not up to date."""

    def get_health() -> Any:
        return agent.get("/v1/health").json()["ledger"]

    thread = CopyThread(*list_configured_copies())
    thread.run_once()
    makers.key(acme)
    sign_moved_heads()
    monkeypatch.setattr(checkpoint_copies, "STEP_TIMEOUT_SECONDS", choose_deadline(fault))
    link.become(SERVICE_FAULTS[fault])
    began = time.monotonic()
    thread.run_once()
    assert time.monotonic() - began < MOST
    makers.key(acme)
    sign_moved_heads()
    health = get_health()
    assert health["ok"] is (fault not in BREAKING)
    if fault in BREAKING:
        error = health["copies"]["peer"]["error"]
        assert ("did not respond within" in error) is (fault in SILENT)
    link.recover()
    monkeypatch.setattr(checkpoint_copies, "STEP_TIMEOUT_SECONDS", PATIENCE)
    thread.run_once()
    copied = {each.statement.account: each for each in thread.copy.load()}
    assert copied == get_checkpoint_file().all()
    assert get_health() == {"ok": True}
