"""The `knowledge sync` command: changed files are delivered and deleted files removed."""

import os
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.db.models.functions import Now
from django.test import Client
from pytest_django import Settings

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account
from kmapp.outbox.models import Delivery
from knowledge.actions import folder_sync
from knowledge.actions.erasure import erase_source
from knowledge.actions.folder_sync import (
    Signature,
    SyncResult,
    compute_signature,
    sync_folder,
)
from knowledge.actions.sources import NewSource, ensure_source
from knowledge.management.commands import knowledge as command
from knowledge.models import KnowledgeChunk, KnowledgeDocument, KnowledgeSource
from tests import makers
from tests.fake_provider import FakeProvider
from tests.knowledge.bombs import zip_archive
from tests.knowledge.test_reading import pdf
from tests.makers import settle

pytestmark = pytest.mark.usefixtures("provider")
PAGES = 300


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A tree with folders, code, an archive, ignored files, and links to elsewhere and itself."""
    for name, text in {
        "index.md": "# Tea\n\nOolong.",
        "guide/brewing.rst": "Brewing\n=======\n\nNinety-five degrees.",
        "guide/code.py": "def brew():\n    return 95\n",
        ".git/config": "[core]",
        "node_modules/x/readme.md": "# Not ours",
        "logo.png": "\x89PNG",
    }.items():
        path = tmp_path / "docs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "docs" / "more.zip").write_bytes(zip_archive({"inside.md": b"# Inside"}))
    (tmp_path / "secret.md").write_text("# Secret")
    (tmp_path / "docs" / "link.md").symlink_to(tmp_path / "secret.md")
    (tmp_path / "docs" / "loop.md").symlink_to(tmp_path / "docs" / "loop.md")
    return tmp_path / "docs"


def sync(folder: Path, account: Account) -> None:
    call_command("knowledge", "sync", folder, account=account.slug, verbosity=0)
    settle()
    settle()  # files of an archive are embedded after it is parsed


def refs(account: Account) -> set[str]:
    with acting(account):
        return set(
            KnowledgeDocument.objects.of(account).not_removed().values_list("ref", flat=True)
        )


def test_unchanged_tree_is_not_embedded_again(
    acme: Account, provider: FakeProvider, folder: Path
) -> None:
    sync(folder, acme)
    every = {"index.md", "guide/brewing.rst", "guide/code.py", "more.zip", "more/inside.md"}
    assert refs(acme) == every
    requests = provider.requests
    assert requests > 0
    sync(folder, acme)
    assert (refs(acme), provider.requests) == (every, requests)


def test_files_stay_whatever_the_name_of_their_archive(acme: Account, folder: Path) -> None:
    for name in ("UPPER.ZIP", "notes.txt"):  # the second is recognised by its first bytes
        (folder / name).write_bytes(zip_archive({"inside.md": b"# Inside"}))
    sync(folder, acme)
    every = refs(acme)
    assert {"UPPER/inside.md", "notes/inside.md"} < every
    sync(folder, acme)
    assert refs(acme) == every


def test_deleted_files_are_removed_and_changes_detected(acme: Account, folder: Path) -> None:
    sync(folder, acme)
    before = compute_signature(folder)
    (folder / "index.md").unlink()
    (folder / "more.zip").unlink()
    (folder / "new.md").write_text("# New")
    assert compute_signature(folder) != before
    sync(folder, acme)
    assert refs(acme) == {"guide/brewing.rst", "guide/code.py", "new.md"}


def test_names_in_gb18030_are_read(acme: Account, folder: Path) -> None:
    name = os.fsdecode("绿茶.md".encode("gb18030"))
    (folder / name).write_text("# 绿茶")
    sync(folder, acme)
    assert "绿茶.md" in refs(acme)


def test_second_file_of_a_name_in_another_encoding_is_reported(acme: Account, folder: Path) -> None:
    for name in ("绿茶.md", os.fsdecode("绿茶.md".encode("gb18030"))):
        (folder / name).write_text("# 绿茶")
    errors = StringIO()
    call_command("knowledge", "sync", folder, account=acme.slug, verbosity=0, stderr=errors)
    assert errors.getvalue().startswith("绿茶.md: Another file has the same name")
    assert "绿茶.md" in refs(acme)


def test_unreadable_file_is_reported_and_its_document_stays(
    acme: Account, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync(folder, acme)
    every, read_pieces = refs(acme), folder_sync._read_pieces  # noqa: SLF001

    def read(path: Path) -> Iterator[bytes]:
        if path.name == "index.md":
            raise PermissionError(13, "Permission denied")
        return read_pieces(path)

    monkeypatch.setattr(folder_sync, "_read_pieces", read)
    (folder / "new.md").write_text("# New")
    errors = StringIO()
    call_command("knowledge", "sync", folder, account=acme.slug, verbosity=0, stderr=errors)
    assert errors.getvalue() == "index.md: Permission denied\n"
    assert refs(acme) == {*every, "new.md"}


def test_sync_of_refused_files_leaves_no_source(
    acme: Account, folder: Path, settings: Settings
) -> None:
    settings.KNOWLEDGE_MAX_FILE_BYTES = 1
    errors = StringIO()
    call_command("knowledge", "sync", folder, account=acme.slug, verbosity=0, stderr=errors)
    assert errors.getvalue().count("is too large") == 4
    assert makers.rows(KnowledgeSource, acme) == []
    settings.KNOWLEDGE_MAX_FILE_BYTES = 1_000_000
    sync(folder, acme)
    [source] = makers.rows(KnowledgeSource, acme)
    assert (source.name, source.kind, source.trust) == ("docs", "repo_docs", "trusted")


def test_watching_does_not_create_an_erased_source_again(
    acme: Account, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def erase(_seconds: float) -> None:
        with acting(acme):
            erase_source(acme.pk, makers.get(KnowledgeSource, acme).pk, SYSTEM)
        (folder / "new.md").write_text("# New")

    monkeypatch.setattr(command, "time", SimpleNamespace(sleep=erase))
    with pytest.raises(CommandError):
        call_command("knowledge", "sync", folder, account=acme.slug, watch=True, verbosity=0)
    assert makers.rows(KnowledgeSource, acme) == []


def watch(folder: Path, account: Account, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Watch a folder for two rounds, and return the refs of its documents."""
    pauses = iter([1, 2])

    def pause(_seconds: float) -> None:
        if next(pauses, None) is None:
            raise KeyboardInterrupt

    monkeypatch.setattr(command, "time", SimpleNamespace(sleep=pause))
    call_command("knowledge", "sync", folder, account=account.slug, watch=True, verbosity=0)
    return refs(account)


def test_watching_delivers_what_changes_during_the_first_delivery(
    acme: Account, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sync_before_a_change(*arguments: Any) -> SyncResult:
        result = sync_folder(*arguments)
        (folder / "late.md").write_text("# Late")
        return result

    monkeypatch.setattr(command, "sync_folder", sync_before_a_change)
    assert "late.md" in watch(folder, acme, monkeypatch)


def test_watching_continues_after_a_file_vanished(
    acme: Account, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[Path] = []

    def read(place: Path) -> Signature:
        reads.append(place)
        if len(reads) == 2:
            (folder / "new.md").write_text("# New")
            raise FileNotFoundError
        return compute_signature(place)

    monkeypatch.setattr(command, "compute_signature", read)
    assert "new.md" in watch(folder, acme, monkeypatch)


def test_waiting_ends_when_the_jobs_have_failed(
    acme: Account, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail_jobs(_seconds: float) -> None:
        assert not makers.count(Delivery, acme, failed_at__isnull=False), "It waits again."
        makers.update(Delivery, acme, {}, failed_at=Now())

    monkeypatch.setattr(command, "time", SimpleNamespace(sleep=fail_jobs))
    with pytest.raises(CommandError, match=r"were not processed.*outbox replay"):
        call_command("knowledge", "sync", folder, account=acme.slug, wait=True, verbosity=0)
    makers.update(Delivery, acme, {}, failed_at=None)
    settle()
    settle()  # files of an archive are embedded after it is parsed
    call_command("knowledge", "sync", folder, account=acme.slug, wait=True, verbosity=0)


def test_rejects_a_file_path(acme: Account, folder: Path) -> None:
    with pytest.raises(CommandError):
        sync(folder / "index.md", acme)


def test_rejects_a_lorebook(acme: Account, folder: Path) -> None:
    with acting(acme):
        ensure_source(acme.pk, SYSTEM, NewSource(name="docs", kind="lorebook"))
    with pytest.raises(CommandError, match="is a lorebook"):
        call_command("knowledge", "sync", folder, account=acme.slug, kind="lorebook", verbosity=0)


def book(pages: int) -> bytes:
    return pdf(*(f"On page {i} the oolong of hill {i} is weighed." for i in range(1, pages + 1)))


def test_book_of_300_pages_by_command_and_one_by_upload(
    acme: Account, reviewer: Client, tmp_path: Path
) -> None:
    (tmp_path / "book.pdf").write_bytes(book(PAGES))
    sync(tmp_path, acme)
    form = {"source": "Books", "kind": "upload", "trust": ""}
    file = SimpleUploadedFile("book.pdf", book(3))
    assert reviewer.post("/knowledge/upload/", {**form, "uploads": [file]}).status_code == 302
    settle()
    with acting(acme):
        assert set(KnowledgeDocument.objects.of(acme).values_list("state")) == {("ready",)}
        chunks = KnowledgeChunk.objects.of(acme)
        assert chunks.count() == PAGES + 3
        assert set(chunks.filter(text__contains="hill 217 ").values_list("page")) == {(217,)}
