"""A faulty network to the virus scanner: nothing unscanned is stored, and a retry succeeds."""

import socket
import time
from collections.abc import Iterator
from threading import Thread
from typing import Any

import pytest
from pytest_django import Settings

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.security.clamd import ScanFailed, scan_file
from knowledge.actions.parse_documents import retry_document
from knowledge.models import KnowledgeDocument, KnowledgeSource
from tests import makers
from tests.agent import Agent
from tests.chaos.proxy import BREAKING, PATIENCE, SERVICE_FAULTS, Proxy, choose_deadline
from tests.knowledge.bombs import zip_archive
from tests.knowledge.builders import deliver
from tests.knowledge.scripted_clamd import VIRUS, clamd

pytestmark = pytest.mark.promise(41)
MOST = 15.0  # seconds of a request during a fault


@pytest.fixture
def link(settings: Settings) -> Iterator[Proxy]:
    server = socket.create_server(("127.0.0.1", 0))
    with clamd(server), Proxy(int(server.getsockname()[1])).serving() as proxy:
        settings.CLAMD_SOCKET = f"127.0.0.1:{proxy.port}"
        yield proxy


def ingest(agent: Agent, text: str) -> Any:
    documents = [{"ref": "a.md", "text": "Fine."}, {"ref": "b.md", "text": text}]
    body = {"source": {"name": "docs"}, "documents": documents}
    return agent.client.post("/v1/knowledge/ingest", body, format="json")


@pytest.mark.parametrize("fault", SERVICE_FAULTS)
def test_documents_are_stored_once_their_scanner_is_back(
    agent: Agent, acme: Account, link: Proxy, settings: Settings, fault: str
) -> None:
    settings.CLAMD_SECONDS = choose_deadline(fault)
    link.become(SERVICE_FAULTS[fault])
    began = time.monotonic()
    answer = ingest(agent, "Clean.")
    assert time.monotonic() - began < MOST
    if fault in BREAKING:
        assert (answer.status_code, answer.json()["error"]) == (503, "scanner_unavailable")
        assert int(answer.headers["Retry-After"]) > 0
        assert makers.rows(KnowledgeSource, acme) == []
    else:
        assert answer.status_code == 201
    link.recover()
    settings.CLAMD_SECONDS = PATIENCE
    assert ingest(agent, "Clean.").status_code in (200, 201)
    assert ingest(agent, VIRUS.decode()).json()["error"] == "infected"
    assert makers.count(KnowledgeDocument, acme) == 2


def test_reply_that_is_cut_short_is_no_result() -> None:
    """The start of a reply about a virus could be the whole reply about a file without one."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"

        def reply() -> None:
            with server.accept()[0] as connection:
                # With unread bytes, the end of the connection would be a reset.
                connection.recv(len(b"zINSTREAM\0") + 4, socket.MSG_WAITALL)
                connection.sendall(b"stream: OK")

        Thread(target=reply, daemon=True).start()
        with pytest.raises(ScanFailed, match="cut short"):
            scan_file(address, [], timeout=5)


def test_archive_whose_scan_breaks_off_can_be_retried(
    acme: Account, link: Proxy, settings: Settings
) -> None:
    address, settings.CLAMD_SOCKET = settings.CLAMD_SOCKET, ""
    deliver(acme, {"repo.zip": zip_archive({"a.md": b"# A"})})
    settings.CLAMD_SOCKET = address
    link.become(SERVICE_FAULTS["truncation"])  # a reset may also prevent the connection
    makers.settle()
    archive = makers.get(KnowledgeDocument, acme)
    assert (archive.state, "scanner" in archive.error) == ("failed", True)
    link.recover()
    with acting(acme):
        retry_document(acme.pk, archive.pk)
    makers.settle()
    assert {each.state for each in makers.rows(KnowledgeDocument, acme)} == {"ready"}
