"""Files in archives are documents of their own."""

import io
import stat
import zipfile

import pytest

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from knowledge.models import KnowledgeChunk, KnowledgeDocument
from tests import makers
from tests.knowledge.bombs import zip_archive
from tests.knowledge.builders import deliver
from tests.makers import settle


def test_symlinks_in_archives_are_ignored(acme: Account) -> None:
    link = zipfile.ZipInfo("link.md")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    archive_bytes = io.BytesIO()
    with zipfile.ZipFile(archive_bytes, "w") as archive:
        archive.writestr(link, "/etc/passwd")
        archive.writestr("a.md", "# A")
    deliver(acme, {"repo.zip": archive_bytes.getvalue()})
    settle()
    with acting(acme):
        refs = KnowledgeDocument.objects.of(acme).values_list("ref", flat=True)
        assert set(refs) == {"repo.zip", "repo/a.md"}


def test_archive_files_are_added_and_removed(acme: Account) -> None:
    files = {"docs/a.md": b"# A", "b.txt": b"B.", ".hidden/c.md": b"C", "../../d.md": b"D"}
    deliver(
        acme,
        {"repo.zip": zip_archive({**files, "x.bin": b"\x00", "in.zip": zip_archive({"e": b"E"})})},
    )
    settle()
    with acting(acme):
        rows = KnowledgeDocument.objects.of(acme)
        refs = set(rows.not_removed().values_list("ref", flat=True))
    assert refs == {"repo.zip", "repo/docs/a.md", "repo/b.txt"}
    deliver(acme, {"repo.zip": zip_archive({"docs/a.md": b"# A"})})
    settle()
    with acting(acme):
        assert rows.not_removed().count() == 2


def test_files_of_a_removed_archive_are_removed(acme: Account) -> None:
    deliver(acme, {"repo.zip": zip_archive({"a.md": b"# A", "b.md": b"# B"}), "c.md": "# C"})
    settle()
    result = deliver(acme, {"repo/b.md": "# B"}, remove=["repo.zip"])
    assert set(result.removed) == {"repo.zip", "repo/a.md"}
    left = {document.ref for document in makers.rows(KnowledgeDocument, acme, removed_at=None)}
    assert left == {"repo/b.md", "c.md"}
    assert {chunk.text for chunk in makers.rows(KnowledgeChunk, acme)} == {"# B", "# C"}


@pytest.mark.parametrize(
    ("name", "encoding"),
    [
        ("说明/安装.md", "gb18030"),
        ("朱镕基.md", "gb18030"),
        ("说明.md", "utf-8"),
        ("Müller.md", "cp437"),
        ("Größe über.md", "cp437"),
    ],
)
def test_names_in_archives_without_the_flag_for_utf_8(
    acme: Account, name: str, encoding: str
) -> None:
    raw = name.encode(encoding)
    placeholder = b"x" * len(raw)  # zipfile sets the flag for names that are not ASCII
    archive = zip_archive({placeholder.decode(): b"# A"}).replace(placeholder, raw)
    deliver(acme, {"repo.zip": archive})
    settle()
    refs = {document.ref for document in makers.rows(KnowledgeDocument, acme)}
    assert refs == {"repo.zip", f"repo/{name}"}
