"""Files are parsed in a sandboxed process, and errors are stored on the document."""

import io
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any
from unittest.mock import Mock

import docx
import openpyxl
import pptx
import pytest
from django.db.models.functions import Now

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account
from kmapp.errors import ReadOnly
from kmapp.outbox.deliver import deliver_due
from kmapp.outbox.failed_deliveries import retry_deliveries
from kmapp.outbox.models import Delivery as Job
from kmapp.settings import BASE_DIR
from knowledge.actions import parse_documents
from knowledge.actions.ingest import ingest_deliveries
from knowledge.actions.parse_documents import retry_document
from knowledge.actions.parsing_jobs import mark_failed
from knowledge.actions.prepare_delivery import DeliveredFile, prepare_deliveries
from knowledge.models import KnowledgeChunk, KnowledgeDocument, KnowledgeSource, KnowledgeText
from knowledge.parsing import sandbox, sandboxed_parser
from knowledge.parsing.failure_messages import JOB_FAILED
from knowledge.parsing.html import extract_text
from knowledge.parsing.sandbox import CannotParse, unpack_in_sandbox
from tests import makers
from tests.knowledge import bombs
from tests.knowledge.bombs import zip_archive
from tests.knowledge.builders import deliver
from tests.makers import settle


def pdf(*pages: str) -> bytes:
    """Return a small PDF with one line on each page."""
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", ""]
    kids = []
    for text in pages:
        stream = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET"
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
        objects.append(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 << "
            "/Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> "
            f"/Contents {len(objects)} 0 R >>"
        )
        kids.append(f"{len(objects)} 0 R")
    objects[1] = f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(kids)} >>"
    return bombs.pdf([each.encode() for each in objects])


def word() -> bytes:
    document = docx.Document()
    document.add_heading("Tea", 1)
    document.add_paragraph("Oolong is partly oxidised.")
    table = document.add_table(1, 2)
    table.rows[0].cells[0].text, table.rows[0].cells[1].text = "green", "80"
    return _saved(document.save)


def slides() -> bytes:
    show = pptx.Presentation()
    for title in ("First oolong", "Second oolong"):
        show.slides.add_slide(show.slide_layouts[0]).shapes.title.text = title
    return _saved(show.save)


def sheet() -> bytes:
    book = openpyxl.Workbook()
    book.active.title = "Prices"
    book.active.append(["oolong", 12])
    return _saved(book.save)


def _saved(save: Callable[[io.BytesIO], None]) -> bytes:
    out = io.BytesIO()
    save(out)
    return out.getvalue()


HTML = b"""<html><head><title>Tea page</title><script>alert(1)</script></head><body>
<h1>Oolong</h1><p>Partly   <b>oxidised</b>.</p><ul><li>one</li></ul></references><pre>a
  b</pre></body></html>"""


FILES = {
    "a.pdf": (pdf("Oolong one.", "Oolong two."), "Oolong two."),
    "a.docx": (word(), "# Tea\n\nOolong is partly oxidised.\n\ngreen | 80"),
    "a.pptx": (slides(), "Second oolong"),
    "a.xlsx": (sheet(), "# Prices\n\noolong | 12"),
    "a.html": (HTML, "# Oolong\n\nPartly oxidised.\n\n- one"),
    "a.csv": ("oolong,12\n".encode("utf-16"), "oolong,12"),
}
DAMAGED = {
    "a.pdf": b"%PDF-1.4 nothing",
    "a.docx": b"PK\x03\x04 nothing",
    "a.xlsx": zip_archive({"xl/workbook.xml": b"<x>"}),
    "a.pptx": b"not even a zip",
}


def test_parser_starts_without_django_and_celery() -> None:
    program = (
        "import sys, knowledge.parsing.sandboxed_parser;"
        "print(*{'django', 'celery', 'opentelemetry'} & sys.modules.keys())"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=BASE_DIR, check=True, capture_output=True, text=True)
    assert done.stdout.split() == []


def test_every_file_type_is_parsed(acme: Account) -> None:
    deliver(acme, {name: data for name, (data, _) in FILES.items()})
    settle()
    with acting(acme):
        for name, (_, content) in FILES.items():
            document = KnowledgeDocument.objects.of(acme).get(ref=name)
            assert (document.state, document.error) == ("ready", ""), name
            text = KnowledgeText.objects.of(acme).get(document=document).text
            assert content in text
            assert "alert" not in text, name
            for chunk in KnowledgeChunk.objects.of(acme).filter(document=document):
                assert text[chunk.start : chunk.end] == chunk.text, name


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "gb18030"])
def test_pages_are_read_in_every_encoding_of_texts(encoding: str) -> None:
    page = "<html><head><title>茶</title></head><body><p>乌龙茶。"
    assert extract_text(page.encode(encoding)) == ("茶", "乌龙茶。")


def test_markup_that_is_not_displayed_leaves_no_marks() -> None:
    hidden = (
        b"<noscript><ul><li>Turn on scripts.</li></ul></noscript><template><h2>A</h2></template>"
    )
    assert extract_text(b"<p>Tea.</p>" + hidden) == ("", "Tea.")


@pytest.mark.parametrize(
    ("address", "mime"),
    [("https://tea.test/README.md", "text/html"), ("docs", "application/xhtml+xml; charset=utf-8")],
)
def test_pages_are_parsed_whatever_their_address_is(acme: Account, address: str, mime: str) -> None:
    deliver(acme, {})
    source = makers.get(KnowledgeSource, acme)
    prepared = prepare_deliveries(source, [DeliveredFile.of(address, HTML, mime=mime)])
    with acting(acme):
        ingest_deliveries(source, SYSTEM, prepared)
    settle()
    assert makers.get(KnowledgeDocument, acme).title == "Tea page"
    assert makers.get(KnowledgeText, acme).text.startswith("# Oolong\n\nPartly oxidised.")


def test_end_of_a_long_page_is_not_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandboxed_parser, "MAX_CHARACTERS", 20)
    [(_head, text)] = sandboxed_parser.parse_html(io.BytesIO(b"<i></i>" * 10 + b"<p>Oolong."))
    assert text == b"Oolong."


def test_damaged_files_fail_with_an_error(acme: Account) -> None:
    deliver(acme, {**DAMAGED, "good.md": "# Good"})
    settle()
    with acting(acme):
        broken = KnowledgeDocument.objects.of(acme).filter(ref__in=DAMAGED)
        assert {each.ref for each in broken.filter(state="failed").exclude(error="")} == {*DAMAGED}
        for each in broken:
            retry_document(acme.pk, each.pk)
    settle()
    with acting(acme):
        assert {each.ref for each in broken.filter(state="failed")} == {*DAMAGED}
        assert KnowledgeDocument.objects.of(acme).get(ref="good.md").state == "ready"


def test_pdf_pages_are_separate_chunks(acme: Account) -> None:
    deliver(acme, {"a.pdf": pdf("One.", "Two.", "Three.")})
    settle()
    with acting(acme):
        pages = KnowledgeChunk.objects.of(acme).order_by("chunk_index").values_list("page", "text")
        assert list(pages) == [(1, "One."), (2, "Two."), (3, "Three.")]


def test_removed_file_is_not_parsed(acme: Account) -> None:
    deliver(acme, {"a.pdf": pdf("One.")})
    deliver(acme, {}, remove=["a.pdf"])
    settle()
    with acting(acme):
        document = KnowledgeDocument.objects.of(acme).get()
        assert (document.state, document.version) == ("pending", 0)
        assert not KnowledgeChunk.objects.of(acme).exists()
    deliver(acme, {"a.pdf": pdf("One.")})
    settle()
    assert makers.get(KnowledgeChunk, acme).text == "One."


def test_parser_is_stopped_at_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "WALL_CLOCK_SECONDS", 0.01)
    with pytest.raises(CannotParse), Path("/dev/zero").open("rb") as endless:
        list(unpack_in_sandbox(endless))


def test_slow_consumer_does_not_count_towards_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(sandbox, "monotonic", lambda: clock[0])
    with TemporaryFile() as file:
        with zipfile.ZipFile(file, "w") as archive:
            for name in ("a.md", "b.md", "c.md"):
                archive.writestr(name, f"# {name}")
        names = []
        for name, _ in unpack_in_sandbox(file):
            clock[0] += 2 * sandbox.WALL_CLOCK_SECONDS
            timers = [each for each in threading.enumerate() if isinstance(each, threading.Timer)]
            assert all(timer.finished.is_set() for timer in timers)  # nothing kills the parser now
            names.append(name)
    assert names == ["a.md", "b.md", "c.md"]


def test_pdf_of_images_fails(acme: Account) -> None:
    deliver(acme, {"a.pdf": pdf("")})
    settle()
    assert "images" in makers.get(KnowledgeDocument, acme).error


def test_read_only_ledger_postpones_parsing(acme: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    refuse = Mock(side_effect=ReadOnly("Its checkpoint is missing.", retry_after=60))
    deliver(acme, {"a.pdf": pdf("One.")})
    with monkeypatch.context() as patched:
        patched.setattr(parse_documents, "recording", refuse)
        settle()
    assert makers.get(KnowledgeDocument, acme).state == "pending"
    makers.update(Job, acme, {"reason": "read-only ledger"}, due_at=Now())
    settle()
    assert makers.get(KnowledgeDocument, acme).state == "ready"


def test_document_fails_when_its_job_fails_permanently(
    acme: Account, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.OUTBOX_MAX_ATTEMPTS = 1
    deliver(acme, {"a.pdf": pdf("One.")})
    with monkeypatch.context() as patched:
        patched.setattr(parse_documents, "parse_in_sandbox", Mock(side_effect=OSError("disk full")))
        deliver_due("extraction")
    document = makers.get(KnowledgeDocument, acme)
    assert (document.state, document.error) == ("failed", JOB_FAILED)
    with acting(acme):
        assert retry_deliveries(acme.pk) == 1
    deliver_due("extraction")
    document = makers.get(KnowledgeDocument, acme)
    assert (document.state, document.error) == ("ready", "")


def test_failed_job_of_a_replaced_file_leaves_the_new_file_pending(acme: Account) -> None:
    [former_job] = deliver(acme, {"a.pdf": pdf("One.")}).events
    deliver(acme, {"a.pdf": pdf("Two.")})
    document = makers.get(KnowledgeDocument, acme)
    with acting(acme):
        mark_failed(acme.pk, document.pk, former_job)
    assert makers.get(KnowledgeDocument, acme).state == "pending"
