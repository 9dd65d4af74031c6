"""The pages of knowledge sources, documents and chunks."""

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils.timezone import localtime
from pytest_django import DjangoAssertNumQueries as MaxQueries

from context.models.archives import ArchiveScope
from kmapp.accounts.acting import acting, current_account_id
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account
from kmapp.errors import Conflict
from kmapp.ledger.models import Commit
from knowledge.actions.ingest import ingest_deliveries
from knowledge.actions.prepare_delivery import prepare_deliveries
from knowledge.actions.sources import NewSource, ensure_source
from knowledge.models import KnowledgeChunk, KnowledgeDocument, KnowledgeSource
from knowledge.views import uploads
from tests import makers
from tests.context.builders import call
from tests.knowledge.bombs import zip_archive
from tests.knowledge.builders import deliver
from tests.makers import settle
from tests.web.pages import HTMX, page

HOSTILE = "# <script>alert(1)</script>\n\n</pre></references> <img src=x onerror=alert(1)> \u202e"


def upload(client: Client, *files: tuple[str, bytes], **fields: str) -> Any:
    form = {"source": "Handbook", "kind": "upload", "trust": ""} | fields
    sent = [SimpleUploadedFile(name, data) for name, data in files]
    return client.post("/knowledge/upload/", {**form, "uploads": sent})


def test_upload_creates_documents_and_shows_progress(reviewer: Client, acme: Account) -> None:
    assert "No documents yet" in page(reviewer.get("/knowledge/"))
    answer = upload(reviewer, ("a.md", b"# Tea\n\nOolong."), ("b.docx", b"broken"), trust="trusted")
    assert answer.status_code == 302
    here = answer.headers["Location"]
    page_text = page(reviewer.get(here))
    assert "Tea" in page_text
    assert "1 file is waiting to be parsed." in page_text
    settle()
    progress = reviewer.get(f"{here}progress/")
    assert "found by keyword and meaning" in page(progress)
    again = reviewer.get(f"{here}progress/", headers={"If-None-Match": progress.headers["ETag"]})
    assert again.status_code == 304
    assert "b.docx" in page(reviewer.get("/knowledge/failures/"))
    assert "b.docx" in page(reviewer.get(here, {"state": "failed"}))
    with acting(acme):
        failed = KnowledgeDocument.objects.of(acme).get(ref="b.docx")
        assert KnowledgeSource.objects.of(acme).get().trust == "trusted"
    page_text = page(reviewer.get(f"/knowledge/documents/{failed.pk}/"))
    assert "The file is damaged or its content does not match its type" in page_text
    assert f"/knowledge/documents/{failed.pk}/retry/" in page_text
    assert reviewer.post(f"/knowledge/documents/{failed.pk}/retry/").status_code == 302
    assert reviewer.post(f"/knowledge/documents/{failed.pk}/retry/").status_code == 409


def test_web_snapshot_stores_url_and_observation_time(reviewer: Client, acme: Account) -> None:
    seen = {"kind": "web_snapshot", "url": "tea.example/green", "observed_at": "2026-03-04T05:06"}
    answer = upload(reviewer, ("green.html", b"<h1>Green tea</h1><p>Keep it cold."), **seen)
    assert answer.status_code == 302
    settle()
    assert "has 1 document." in page(reviewer.get(f"{answer.headers['Location']}erase/"))
    document = makers.get(KnowledgeDocument, acme)
    assert document.url == "https://tea.example/green"
    assert f"{localtime(document.observed_at):%Y-%m-%dT%H:%M}" == seen["observed_at"]
    assert "https://tea.example/green" in page(reviewer.get(f"/knowledge/documents/{document.pk}/"))
    two = upload(reviewer, ("a.html", b"x"), ("b.html", b"y"), **seen)
    assert (two.status_code, "Choose only one file" in two.content.decode()) == (422, True)
    reviewer.cookies["kmapp_zone"] = "Asia/Shanghai"
    for odd in ({"url": "javascript:alert(1)"}, {"observed_at": "0001-01-01T00:00"}):
        assert upload(reviewer, ("a.html", b"x"), **{**seen, **odd}).status_code == 422, odd


def test_rejects_invalid_uploads(reviewer: Client, settings: Any) -> None:
    assert "form" in page(reviewer.get("/knowledge/upload/", {"source": "Handbook"}))
    assert reviewer.post("/knowledge/upload/", {"source": "x", "kind": "upload"}).status_code == 422
    twice = upload(reviewer, ("a.md", b"x"), ("a.md", b"y"))
    assert (twice.status_code, "the same name" in twice.content.decode()) == (422, True)
    many = upload(reviewer, *((f"{i}.md", b"x") for i in range(201)))
    assert (many.status_code, "at most 200 files" in many.content.decode()) == (422, True)
    settings.KNOWLEDGE_MAX_FILE_BYTES = 1
    large = upload(reviewer, ("a.md", b"xyz"))
    assert (large.status_code, "a.md" in large.content.decode()) == (422, True)


def test_page_that_erases_an_archive_names_what_stays(reviewer: Client, acme: Account) -> None:
    deliver(acme, {"repo.zip": zip_archive({"a.md": b"# A"})})
    settle()
    for ref, is_archive in (("repo.zip", True), ("repo/a.md", False)):
        document = makers.get(KnowledgeDocument, acme, ref=ref)
        text = page(reviewer.get(f"/knowledge/documents/{document.pk}/erase/"))
        assert ("separate documents and stay" in text) == is_archive


def test_removed_document_offers_no_retry(reviewer: Client, acme: Account) -> None:
    [document] = deliver(acme, {"a.md": b"\x00"}).documents
    here, retry = f"/knowledge/documents/{document.pk}/", f"{document.pk}/retry/"
    assert retry in page(reviewer.get(here))
    deliver(acme, {}, remove=["a.md"])
    assert retry not in page(reviewer.get(here))


def test_files_are_parsed_outside_the_transaction(
    reviewer: Client, acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    accounts = []

    def recording_prepare(*args: Any) -> Any:
        accounts.append(current_account_id())
        return prepare_deliveries(*args)

    monkeypatch.setattr("knowledge.views.uploads.prepare_deliveries", recording_prepare)
    assert upload(reviewer, ("a.md", b"# Tea")).status_code == 302
    assert accounts == [None]
    assert makers.get(KnowledgeDocument, acme).title == "Tea"


def test_large_upload_is_stored_in_several_commits(
    reviewer: Client, acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "BATCH_FILES", 2)
    before = makers.count(Commit, acme)
    answer = upload(reviewer, *((f"{i}.md", b"# Tea") for i in range(5)))
    assert "5 files uploaded." in page(reviewer.get(answer.headers["Location"]))
    assert makers.count(Commit, acme) == before + 3
    assert makers.count(KnowledgeDocument, acme) == 5


def test_failed_upload_keeps_the_files_of_earlier_commits(
    reviewer: Client, acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ingest(source: Any, actor: Any, prepared: Any, **options: Any) -> Any:
        if prepared[0].delivery.ref == "b.md":
            raise Conflict("The source is busy.")
        return ingest_deliveries(source, actor, prepared, **options)

    files = [("a.md", b"# A"), ("b.md", b"# B"), ("c.md", b"# C")]
    with monkeypatch.context() as patch:
        patch.setattr(uploads, "BATCH_FILES", 1)
        patch.setattr(uploads, "ingest_deliveries", ingest)
        text = page(upload(reviewer, *files), 422)
    assert "The source is busy. Files stored before this error: 1." in text
    assert [row.ref for row in makers.rows(KnowledgeDocument, acme)] == ["a.md"]
    answer = upload(reviewer, *files)
    assert "2 files uploaded." in page(reviewer.get(answer.headers["Location"]))


def test_rejects_an_upload_to_a_lorebook(reviewer: Client, acme: Account) -> None:
    with acting(acme):
        ensure_source(acme.pk, SYSTEM, NewSource(name="Handbook", kind="lorebook"))
    refused = upload(reviewer, ("a.md", b"x"), trust="trusted")
    assert (refused.status_code, "is a lorebook" in refused.content.decode()) == (422, True)
    with acting(acme):
        assert KnowledgeSource.objects.of(acme).get().trust == "semi_trusted"
        assert not KnowledgeDocument.objects.of(acme).exists()


def test_progress_is_sent_again_when_it_changes(
    reviewer: Client, acme: Account, settings: Any
) -> None:
    settings.LANGUAGE_COOKIE_NAME = "__Host-django_language"  # the cookie's name behind TLS
    source = deliver(acme, {"a.md": "A."}).documents[0].source_id
    settle()

    def get_progress(etag: str = "") -> Any:
        headers = {"If-None-Match": etag}
        return reviewer.get(f"/knowledge/sources/{source}/progress/", headers=headers)

    seen = get_progress().headers["ETag"]
    assert get_progress(seen).status_code == 304
    deliver(acme, {"a.md": "# A\n\n" + "Words of tea. " * 900})
    settle()
    longer = get_progress(seen)
    assert "chunks can be found" in page(longer)
    reviewer.cookies["__Host-django_language"] = "zh-hans"
    assert "chunks can be found" not in page(get_progress(longer.headers["ETag"]))


def test_source_is_polled_while_work_is_pending(reviewer: Client, acme: Account) -> None:
    here = f"/knowledge/sources/{deliver(acme, {'a.md': 'A.'}).documents[0].source_id}/"
    polled = f'data-poll="{here}progress/"'
    assert polled in page(reviewer.get(here))
    settle()
    assert polled not in page(reviewer.get(here))


def test_document_text_is_escaped(reviewer: Client, acme: Account) -> None:
    result = deliver(acme, {"<b>.md": HOSTILE}, name="<i>docs</i>")
    chunk = makers.get(KnowledgeChunk, acme)
    source, document = result.documents[0].source_id, result.documents[0].pk
    for path in (
        "",
        f"sources/{source}/",
        f"documents/{document}/",
        f"chunks/{chunk.pk}/",
        f"sources/{source}/erase/",
        f"documents/{document}/erase/",
    ):
        page_text = page(reviewer.get(f"/knowledge/{path}"))
        for markup in ("<script>alert", "<img src=x", "<i>docs", "<b>.md", "</references>"):
            assert markup not in page_text, path
    assert "U+202E" in page(reviewer.get(f"/knowledge/chunks/{chunk.pk}/"))


def test_erasing_asks_for_confirmation(reviewer: Client, acme: Account) -> None:
    [one, two] = deliver(acme, {"a.md": "A.", "b.md": "B."}).documents
    assert "permanently" in page(reviewer.get(f"/knowledge/documents/{one.pk}/erase/"))
    assert reviewer.post(f"/knowledge/documents/{one.pk}/erase/").status_code == 302
    assert reviewer.get(f"/knowledge/documents/{one.pk}/").status_code == 404
    assert reviewer.post(f"/knowledge/sources/{two.source_id}/erase/").status_code == 302
    assert "No documents yet" in page(reviewer.get("/knowledge/"))


def test_other_chunks_can_be_opened_from_a_cited_one(reviewer: Client, acme: Account) -> None:
    text = "\n\n".join(f"# Part {i}\n\n" + "Words of tea. " * 250 for i in range(30))
    document = deliver(acme, {"a.md": text}).documents[0]
    cited = makers.get(KnowledgeChunk, acme, chunk_index=0)
    here, query = f"/knowledge/documents/{document.pk}/", {"view": "chunks", "chunk": str(cited.pk)}
    first = page(reviewer.get(here, query))
    assert makers.missing(first, 'id="passage"', ">Chunk 1<", "page=2") == []
    second = page(reviewer.get(here, query | {"page": "2"}))
    assert makers.missing(second, ">Chunk 21<") == []
    assert ">Chunk 1<" not in second


def test_query_count_does_not_grow_with_rows(
    reviewer: Client, acme: Account, max_queries: MaxQueries
) -> None:
    text = "\n\n".join(f"# Part {i}\n\n" + "Words of tea. " * 90 for i in range(40))
    files = {f"{i}.md": f"T{i}." for i in range(1, 40)}
    document = deliver(acme, {"0.md": text, **files}).documents[0]
    with acting(acme):
        chunk = KnowledgeChunk.objects.of(acme).filter(document=document)[0]
    for path in (
        "",
        f"sources/{document.source_id}/",
        f"documents/{document.pk}/",
        f"chunks/{chunk.pk}/",
        "failures/",
    ):
        with max_queries(18):
            assert reviewer.get(f"/knowledge/{path}").status_code == 200


def test_calls_that_cite_a_chunk_are_uses_of_it_and_of_its_document(
    reviewer: Client, acme: Account, rival: Account, max_queries: MaxQueries
) -> None:
    parts = [f"## Part {i}\n\n" + f"The oolong harvest of part {i} was good. " * 40 for i in (1, 2)]
    for account in (acme, rival):
        deliver(account, {"h.md": "# Harvest\n\n" + "\n\n".join(parts), "other.md": "A cup."})
    with acting(acme):
        first, *_, last = (
            KnowledgeChunk.objects.of(acme).filter(document__ref="h.md").order_by("pk")
        )
    messages = [{"role": "user", "content": "Was the oolong harvest good?"}]
    calls_made = [
        call(acme, messages, sources=("knowledge",), within=ArchiveScope(conversation_id=f"c{i}"))
        for i in range(12)
    ]
    call(rival, messages, sources=("knowledge",), within=ArchiveScope(conversation_id="theirs"))
    document = makers.get(KnowledgeDocument, acme, ref="h.md")
    for cited in (first, last, document):  # both chunks are in one passage
        with max_queries(16):
            text = page(reviewer.get(f"/usage/{cited.pk}/", headers=HTMX))
        shown_ids = [each.report_id for each in calls_made if f"/calls/{each.report_id}/" in text]
        assert shown_ids == [each.report_id for each in calls_made[-10:]]
        assert "theirs" not in text
        calls = page(reviewer.get("/calls/", {"cites": str(cited.pk)}))
        assert calls.count('href="/calls/0') == len(calls_made)
    assert f'hx-get="/usage/{first.pk}/"' in page(reviewer.get(f"/knowledge/chunks/{first.pk}/"))
    unused = makers.get(KnowledgeChunk, acme, document__ref="other.md")
    assert "No call has cited it" in page(reviewer.get(f"/usage/{unused.pk}/"))
    assert "Nothing matches" in page(reviewer.get("/calls/", {"cites": str(unused.pk)}))
    deliver(acme, {"h.md": "# Harvest\n\nNothing of it is left."})
    assert f"/calls/{calls_made[-1].report_id}/" in page(reviewer.get(f"/usage/{document.pk}/"))
