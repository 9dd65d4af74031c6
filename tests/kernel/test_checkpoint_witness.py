"""A copy of the checkpoints at a plain HTTP service, and copies that someone forged."""

import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from pytest_django import Settings

from kmapp.accounts.models import Account, User
from kmapp.ledger.chain_deviations import list_deviations
from kmapp.ledger.checkpoint_copies import list_configured_copies
from kmapp.ledger.checkpoint_copy_thread import FORGED, CopyThread
from kmapp.ledger.checkpoint_file import get_checkpoint_file
from kmapp.ledger.checkpoints import sign_moved_heads
from kmapp.ledger.signing import append_statements
from tests import makers

pytestmark = pytest.mark.usefixtures("module_commits")
Records = dict[str, dict[str, Any]]  # by account


@pytest.fixture
def stored(settings: Settings) -> Iterator[Records]:
    """Configure a service that stores the last line of each account, and signs nothing."""
    records: Records = {}

    class Service(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.respond([*records.values()])

        def do_POST(self) -> None:
            new = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["checkpoints"]
            records.update({each["statement"]["account"]: each for each in new})
            self.respond(new)

        def respond(self, lines: list[dict[str, Any]]) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps({"checkpoints": lines}).encode())

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Service) as server:
        settings.CHECKPOINT_PEER_URL = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield records
        server.shutdown()


def test_lost_checkpoints_come_back_from_a_plain_service(stored: Records, acme: Account) -> None:
    [copy] = list_configured_copies()
    sign_moved_heads()
    old = settings.CHECKPOINT_FILE.read_bytes()
    makers.key(acme)
    sign_moved_heads()
    newest = get_checkpoint_file().all()
    CopyThread(copy).run_once()
    assert stored == {str(pk): each.record() for pk, each in newest.items()}
    settings.CHECKPOINT_FILE.unlink()
    settings.CHECKPOINT_FILE.write_bytes(old)
    assert get_checkpoint_file().all() != newest
    CopyThread(copy).run_once()
    assert get_checkpoint_file().all() == newest
    assert list_deviations() == []


def test_forged_statement_of_a_service_is_reported(
    stored: Records, acme: Account, agent: Client
) -> None:
    sign_moved_heads()
    thread = CopyThread(*list_configured_copies())
    thread.run_once()
    own = get_checkpoint_file().all()
    thread.compared -= 3600
    stored[str(acme.pk)]["statement"]["seq"] = 99
    thread.run_once()
    assert agent.get("/v1/health").json()["ledger"]["copies"]["peer"]["error"] == FORGED
    thread.run_once()  # the service has stored our line again
    assert agent.get("/v1/health").json()["ledger"] == {"ok": True}
    assert get_checkpoint_file().all() == own


def test_forged_statement_of_a_file_is_refused_and_reported(
    settings: Settings, tmp_path: Path, acme: Account, agent: Client
) -> None:
    sign_moved_heads()
    own = get_checkpoint_file().all()
    forged = replace(own[acme.pk].statement, seq=99)
    path = tmp_path / "copy.ndjson"
    append_statements(path, [replace(own[acme.pk], statement=forged)])
    settings.CHECKPOINT_COPY_FILE = str(path)
    CopyThread(*list_configured_copies()).run_once()
    assert get_checkpoint_file().all() == own
    part = agent.get("/v1/health").json()["ledger"]
    assert (part["ok"], part["copies"]["file"]["error"]) == (False, FORGED)
    owner = makers.member(acme, "owner", role="admin")
    User.objects.filter(pk=owner.pk).update(is_superuser=True)
    assert FORGED in makers.signed_in(owner).get("/operations/").content.decode()
