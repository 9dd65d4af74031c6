"""Files are scanned by a configured clamd before anything is stored."""

import json
import socket
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.db.models.functions import Now
from django.test import Client
from django.urls import reverse
from django.utils import translation
from pytest_django import Settings

from kmapp.accounts.models import Account
from kmapp.management.doctor import connections
from kmapp.outbox.models import Delivery
from kmapp.security.clamd import CHUNK_SIZE, ScanFailed, scan_file
from knowledge.models import (
    KnowledgeDocument,
    KnowledgeDraft,
    KnowledgeImage,
    KnowledgeSource,
    KnowledgeText,
)
from memory.models import Judgement
from tests import makers
from tests.agent import Agent
from tests.knowledge.bombs import zip_archive
from tests.knowledge.builders import deliver, draw_image
from tests.knowledge.scripted_clamd import VIRUS, Clamd, clamd
from tests.knowledge.websites import PAGE, Site
from tests.makers import settle
from tests.web.pages import page


@pytest.fixture
def scanner(tmp_path: Path, settings: Settings) -> Iterator[Clamd]:
    server = socket.socket(socket.AF_UNIX)
    settings.CLAMD_SOCKET = str(tmp_path / "clamd")
    server.bind(settings.CLAMD_SOCKET)
    with clamd(server) as scripted:
        yield scripted


def ingest(agent: Agent, text: str, status: int, name: str = "docs") -> dict[str, object]:
    documents = [{"ref": "a.md", "text": "Fine."}, {"ref": "b.md", "text": text}]
    body = {"source": {"name": name}, "documents": documents}
    answer: dict[str, object] = agent.post("knowledge/ingest", body, status)
    return answer


def test_infected_file_is_refused_and_nothing_stays(
    agent: Agent, acme: Account, admin: Client, scanner: Clamd
) -> None:
    ingest(agent, "Clean.", 201)
    assert scanner.files == [b"Fine.", b"Clean."]
    refused = ingest(agent, f"Look: {VIRUS.decode()}", 400, name="other")
    assert refused["error"] == "infected"
    assert refused["issues"] == [{"path": "documents.1", "message": "contains Test.Signature"}]
    files = {"uploads": SimpleUploadedFile("virus.md", b"x" * 3 * CHUNK_SIZE + VIRUS)}
    form = {"source": "Uploads", "kind": "upload", "trust": "", **files}
    assert "contains a virus (Test.Signature)" in page(admin.post("/knowledge/upload/", form), 422)
    written = {"title": "Tea", "source": "Handbook", "version": 0, "text": VIRUS.decode()}
    assert "contains a virus" in page(admin.post("/knowledge/write/", written), 422)
    assert [row.name for row in makers.rows(KnowledgeSource, acme)] == ["docs"]
    assert makers.count(KnowledgeDocument, acme) == 2


@pytest.mark.usefixtures("scanner")
def test_infected_file_after_a_page_is_named_by_its_place(agent: Agent, settings: Settings) -> None:
    settings.KNOWLEDGE_FETCH_HOSTS = ["tea.test"]
    documents = [
        {"ref": "page", "fetch": True, "url": "https://tea.test/"},
        {"ref": "b.md", "text": VIRUS.decode()},
    ]
    body = {"source": {"name": "docs"}, "documents": documents}
    [issue] = agent.post("knowledge/ingest", body, 400)["issues"]
    assert issue["path"] == "documents.1"


def test_images_of_the_editor_are_scanned(
    admin: Client, acme: Account, scanner: Clamd, settings: Settings, tmp_path: Path
) -> None:
    clean = draw_image()

    def insert(data: bytes) -> Any:
        form = {"text": "Tea.", "version": 0, "do": "image"}
        image = SimpleUploadedFile("cup.png", data)
        return admin.post("/knowledge/write/", {**form, "image": image})

    assert "“cup.png” contains a virus (Test.Signature)" in page(insert(clean + VIRUS), 422)
    settings.CLAMD_SOCKET = str(tmp_path / "nobody")
    assert "virus scanner is not available" in page(insert(clean), 422)
    assert makers.count(KnowledgeImage, acme) == makers.count(KnowledgeDraft, acme) == 0
    settings.CLAMD_SOCKET = str(tmp_path / "clamd")
    assert insert(clean).status_code == 302
    assert scanner.files == [clean + VIRUS, clean]
    assert "![cup.png](/knowledge/images/" in makers.get(KnowledgeDraft, acme).text


def test_infected_lorebook_is_refused_and_nothing_stays(
    admin: Client, acme: Account, scanner: Clamd
) -> None:
    def create(content: str) -> Any:
        book = json.dumps({"entries": [{"keys": ["tea"], "content": content}]}).encode()
        form = {"name": "Tea", "trust": "untrusted", "book": SimpleUploadedFile("w.json", book)}
        return admin.post("/lore/new/", form)

    assert "“w.json” contains a virus (Test.Signature)" in page(create(VIRUS.decode()), 422)
    assert makers.rows(KnowledgeSource, acme) == []
    assert create("Tea calms.").status_code == 302
    assert b"Tea calms." in scanner.files[1]


@pytest.mark.usefixtures("scanner")
def test_infected_judgements_are_refused_and_nothing_stays(
    admin: Client, agent: Agent, acme: Account
) -> None:
    memory = agent.store("Tea is in the kitchen.")
    lines = [
        json.dumps({"question": each, "memory_id": memory, "relevant": True}).encode()
        for each in ("Where is the tea?", VIRUS.decode())
    ]
    for data, status, number in ((b"\n".join(lines), 400, 0), (lines[0], 302, 1)):
        file = SimpleUploadedFile("lines.jsonl", data)
        answer = admin.post(reverse("memory:judgements_import"), {"file": file})
        assert answer.status_code == status
        assert ("“lines.jsonl” contains a virus" in answer.text) == (status == 400)
        assert makers.count(Judgement, acme) == number


def test_fetched_pages_are_scanned(
    agent: Agent, acme: Account, scanner: Clamd, site: Site, settings: Settings
) -> None:
    settings.KNOWLEDGE_FETCH_PRIVATE = [site.netloc]
    pages = ("page", f"echo/{VIRUS.decode()}")
    documents = [
        {"ref": each, "fetch": True, "url": f"http://{site.netloc}/{each}"} for each in pages
    ]
    agent.post("knowledge/ingest", {"source": {"name": "web"}, "documents": documents})
    settle()
    clean, infected = sorted(
        makers.rows(KnowledgeDocument, acme), key=lambda row: row.ref != "page"
    )
    assert (clean.state, infected.state) == ("ready", "failed")
    assert "contains a virus (Test.Signature)" in infected.error
    assert PAGE in scanner.files
    assert not any(VIRUS.decode() in row.text for row in makers.rows(KnowledgeText, acme))


def test_without_its_scanner_nothing_is_stored(
    agent: Agent, acme: Account, settings: Settings, tmp_path: Path
) -> None:
    settings.CLAMD_SOCKET = str(tmp_path / "nobody")
    answer = ingest(agent, "Clean.", 503)
    assert answer["error"] == "scanner_unavailable"
    assert makers.rows(KnowledgeSource, acme) == []


@pytest.mark.usefixtures("scanner")
def test_infected_file_does_not_stop_a_sync(acme: Account, tmp_path: Path) -> None:
    folder, errors = tmp_path / "docs", StringIO()
    folder.mkdir()
    for name, text in {"a.md": "# A", "b.md": VIRUS.decode(), "c.md": "# C"}.items():
        (folder / name).write_text(text)
    call_command("knowledge", "sync", folder, account=acme.slug, verbosity=0, stderr=errors)
    assert {each.ref for each in makers.rows(KnowledgeDocument, acme)} == {"a.md", "c.md"}
    assert "“b.md” contains a virus (Test.Signature)" in errors.getvalue()


def test_sync_without_its_scanner_says_so(
    acme: Account, settings: Settings, tmp_path: Path
) -> None:
    settings.CLAMD_SOCKET = str(tmp_path / "nobody")
    (tmp_path / "a.md").write_text("# A")
    with pytest.raises(CommandError, match="virus scanner is not available"):
        call_command("knowledge", "sync", tmp_path, account=acme.slug, verbosity=0)
    assert makers.count(KnowledgeDocument, acme) == makers.count(KnowledgeSource, acme) == 0


@pytest.fixture
def archive(acme: Account, settings: Settings, scanner: Clamd) -> None:
    """An archive that was delivered, but not unpacked yet."""
    address, settings.CLAMD_SOCKET = settings.CLAMD_SOCKET, ""
    deliver(acme, {"repo.zip": zip_archive({"a.md": b"# A"})})
    settings.CLAMD_SOCKET = address


@pytest.mark.usefixtures("archive")
def test_archive_waits_for_its_scanner(acme: Account, settings: Settings, scanner: Clamd) -> None:
    address, settings.CLAMD_SOCKET = settings.CLAMD_SOCKET, "/nobody"
    settle()
    assert makers.get(KnowledgeDocument, acme).state == "pending"
    settings.CLAMD_SOCKET = address
    makers.update(Delivery, acme, {"reason": "scanner_unavailable"}, due_at=Now())
    settle()
    assert scanner.files == [b"# A"]
    assert {each.state for each in makers.rows(KnowledgeDocument, acme)} == {"ready"}


@pytest.mark.usefixtures("archive")
def test_archive_fails_if_a_file_cannot_be_scanned(acme: Account, scanner: Clamd) -> None:
    scanner.most = 2
    settle()
    document = makers.get(KnowledgeDocument, acme)
    assert (document.state, "scanner" in document.error) == ("failed", True)
    with translation.override("zh-hans"):
        assert "病毒扫描程序不可用" in document.reason


def test_reader_understands_why_an_archive_failed(
    acme: Account, scanner: Clamd, settings: Settings
) -> None:
    address, settings.CLAMD_SOCKET = settings.CLAMD_SOCKET, ""
    files = {f"a {each}.md": b"# A" if each else VIRUS for each in range(2)}
    deliver(acme, {"virus.zip": zip_archive(files), "full.zip": zip_archive({"a.md": b"# A"})})
    settings.CLAMD_SOCKET = address
    settings.KNOWLEDGE_MAX_ACCOUNT_BYTES = 1
    settle()
    with translation.override("zh-hans"):
        reasons = {each.ref: each.reason for each in makers.rows(KnowledgeDocument, acme)}
    assert reasons["virus.zip"] == "“virus/a 0.md”包含病毒（Test.Signature），因此未存储任何内容。"
    assert reasons["full.zip"].startswith("文档存储空间已满：已用")


def test_scanner_on_a_port_limits_files() -> None:
    server = socket.create_server(("127.0.0.1", 0))
    address = f"127.0.0.1:{server.getsockname()[1]}"
    with clamd(server, most=CHUNK_SIZE) as scripted:
        assert scan_file(address, [b"clean"], timeout=60) is None
        assert scan_file(address, [VIRUS[:4], VIRUS[4:]], timeout=60) == "Test.Signature"
        assert scripted.files == [b"clean", VIRUS]
        with pytest.raises(ScanFailed, match="size limit exceeded"):
            scan_file(address, [b"b" * CHUNK_SIZE] * 3, timeout=60)


@pytest.mark.usefixtures("scanner")
def test_doctor_reports_a_scanner_that_does_not_answer(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "PING_SECONDS", 1.0)
    with socket.create_server(("127.0.0.1", 0)) as hung:
        for address, level, message in (
            (settings.CLAMD_SOCKET, "OK", "clamd answers at "),
            ("", "OK", "none is configured"),
            (str(tmp_path / "nobody"), "ERROR", "FileNotFoundError"),
            ("127.0.0.1:clamd", "ERROR", "ValueError"),
            (f"127.0.0.1:{hung.getsockname()[1]}", "ERROR", "TimeoutError"),
        ):
            settings.CLAMD_SOCKET = address
            [finding] = connections.check_virus_scanner()
            assert (finding.level, message in finding.message) == (level, True), finding
            assert bool(finding.remedy) == (level == "ERROR")
