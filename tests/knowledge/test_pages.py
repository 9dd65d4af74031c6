"""The pages of knowledge: uploaded, followed, read beside their chunks, erased."""

from collections.abc import Callable
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils.timezone import localtime

from context.models.archives import ArchiveScope
from kmapp.accounts.acting import acting, current_account_id
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account, User
from knowledge.actions.prepare_delivery import prepare
from knowledge.actions.sources import NewSource, ensure_source
from knowledge.models import KnowledgeChunk, KnowledgeDocument, KnowledgeSource
from tests.context.calling import call
from tests.knowledge.made import deliver
from tests.makers import settle

HOSTILE = "# <script>alert(1)</script>\n\n</pre></references> <img src=x onerror=alert(1)> \u202e"


@pytest.fixture
def at_desk(client: Client, alice: User) -> Client:
    client.force_login(alice)
    return client


def page(answer: Any) -> str:
    assert answer.status_code == 200
    return str(answer.content.decode())


def upload(client: Client, *files: tuple[str, bytes], **said: str) -> Any:
    form = {"source": "Handbook", "kind": "upload", "trust": ""} | said
    sent = [SimpleUploadedFile(name, data) for name, data in files]
    return client.post("/knowledge/upload/", {**form, "uploads": sent})


def test_uploads_become_documents_and_say_how_far_they_are(at_desk: Client, acme: Account) -> None:
    assert "No documents yet" in page(at_desk.get("/knowledge/"))
    answer = upload(at_desk, ("a.md", b"# Tea\n\nOolong."), ("b.docx", b"broken"), trust="trusted")
    assert answer.status_code == 302
    here = answer.headers["Location"]
    shown = page(at_desk.get(here))
    assert "Tea" in shown
    assert "1 file is waiting to be parsed." in shown
    settle()
    progress = at_desk.get(f"{here}progress/")
    assert "found by keyword and meaning" in page(progress)
    again = at_desk.get(f"{here}progress/", headers={"If-None-Match": progress.headers["ETag"]})
    assert again.status_code == 304
    assert "b.docx" in page(at_desk.get("/knowledge/failures/"))
    assert "b.docx" in page(at_desk.get(here, {"state": "failed"}))
    with acting(acme):
        failed = KnowledgeDocument.objects.of(acme).get(ref="b.docx")
        assert KnowledgeSource.objects.of(acme).get().trust == "trusted"
    said = page(at_desk.get(f"/knowledge/documents/{failed.pk}/"))
    assert "The file is damaged or its content does not match its type" in said
    assert f"/knowledge/documents/{failed.pk}/retry/" in said
    assert at_desk.post(f"/knowledge/documents/{failed.pk}/retry/").status_code == 302
    assert at_desk.post(f"/knowledge/documents/{failed.pk}/retry/").status_code == 409


def test_a_saved_web_page_keeps_its_address_and_when_it_was_seen(
    at_desk: Client, acme: Account
) -> None:
    seen = {"kind": "web_snapshot", "url": "tea.example/green", "observed_at": "2026-03-04T05:06"}
    answer = upload(at_desk, ("green.html", b"<h1>Green tea</h1><p>Keep it cold."), **seen)
    assert answer.status_code == 302
    settle()
    with acting(acme):
        document = KnowledgeDocument.objects.of(acme).get()
    assert document.url == "https://tea.example/green"
    assert f"{localtime(document.observed_at):%Y-%m-%dT%H:%M}" == seen["observed_at"]
    assert "https://tea.example/green" in page(at_desk.get(f"/knowledge/documents/{document.pk}/"))
    two = upload(at_desk, ("a.html", b"x"), ("b.html", b"y"), **seen)
    assert (two.status_code, "Choose only one file" in two.content.decode()) == (422, True)
    script = upload(at_desk, ("a.html", b"x"), **{**seen, "url": "javascript:alert(1)"})
    assert script.status_code == 422


def test_an_upload_that_cannot_be_is_refused_in_words(at_desk: Client, settings: Any) -> None:
    assert "form" in page(at_desk.get("/knowledge/upload/", {"source": "Handbook"}))
    assert at_desk.post("/knowledge/upload/", {"source": "x", "kind": "upload"}).status_code == 422
    twice = upload(at_desk, ("a.md", b"x"), ("a.md", b"y"))
    assert (twice.status_code, "the same name" in twice.content.decode()) == (422, True)
    settings.KNOWLEDGE_MAX_FILE_BYTES = 1
    large = upload(at_desk, ("a.md", b"xyz"))
    assert (large.status_code, "a.md" in large.content.decode()) == (422, True)


def test_files_are_read_while_no_lock_is_held(
    at_desk: Client, acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    within = []

    def watched(*said: Any) -> Any:
        within.append(current_account_id())
        return prepare(*said)

    monkeypatch.setattr("knowledge.views.uploads.prepare", watched)
    assert upload(at_desk, ("a.md", b"# Tea")).status_code == 302
    assert within == [None]
    with acting(acme):
        assert KnowledgeDocument.objects.of(acme).get().title == "Tea"


def test_an_upload_to_a_lorebook_is_refused(at_desk: Client, acme: Account) -> None:
    with acting(acme):
        ensure_source(acme.pk, SYSTEM, NewSource(name="Handbook", kind="lorebook"))
    refused = upload(at_desk, ("a.md", b"x"), trust="trusted")
    assert (refused.status_code, "is a lorebook" in refused.content.decode()) == (422, True)
    with acting(acme):
        assert KnowledgeSource.objects.of(acme).get().trust == "semi_trusted"
        assert not KnowledgeDocument.objects.of(acme).exists()


def test_progress_is_sent_again_once_it_reads_otherwise(
    at_desk: Client, acme: Account, settings: Any
) -> None:
    settings.LANGUAGE_COOKIE_NAME = "__Host-django_language"  # as behind TLS
    source = deliver(acme, {"a.md": "A."}).documents[0].source_id
    settle()

    def ask(known: str = "") -> Any:
        headers = {"If-None-Match": known}
        return at_desk.get(f"/knowledge/sources/{source}/progress/", headers=headers)

    seen = ask().headers["ETag"]
    assert ask(seen).status_code == 304
    deliver(acme, {"a.md": "# A\n\n" + "Words of tea. " * 900})
    settle()
    longer = ask(seen)
    assert "chunks can be found" in page(longer)
    at_desk.cookies["__Host-django_language"] = "zh-hans"
    assert "chunks can be found" not in page(ask(longer.headers["ETag"]))


def test_what_a_document_says_never_becomes_markup(at_desk: Client, acme: Account) -> None:
    taken = deliver(acme, {"<b>.md": HOSTILE}, name="<i>docs</i>")
    with acting(acme):
        chunk = KnowledgeChunk.objects.of(acme).get()
    source, document = taken.documents[0].source_id, taken.documents[0].pk
    for path in (
        "",
        f"sources/{source}/",
        f"documents/{document}/",
        f"chunks/{chunk.pk}/",
        f"sources/{source}/erase/",
        f"documents/{document}/erase/",
    ):
        shown = page(at_desk.get(f"/knowledge/{path}"))
        for markup in ("<script>alert", "<img src=x", "<i>docs", "<b>.md", "</references>"):
            assert markup not in shown, path
    assert "U+202E" in page(at_desk.get(f"/knowledge/chunks/{chunk.pk}/"))


def test_erasing_asks_first(at_desk: Client, acme: Account) -> None:
    [one, two] = deliver(acme, {"a.md": "A.", "b.md": "B."}).documents
    assert "permanently" in page(at_desk.get(f"/knowledge/documents/{one.pk}/erase/"))
    assert at_desk.post(f"/knowledge/documents/{one.pk}/erase/").status_code == 302
    assert at_desk.get(f"/knowledge/documents/{one.pk}/").status_code == 404
    assert at_desk.post(f"/knowledge/sources/{two.source_id}/erase/").status_code == 302
    assert "No documents yet" in page(at_desk.get("/knowledge/"))


@pytest.mark.parametrize("number", [2, 40])
def test_pages_cost_the_same_however_much_there_is(
    at_desk: Client,
    acme: Account,
    number: int,
    django_assert_max_num_queries: Callable[[int], Any],
) -> None:
    text = "\n\n".join(f"# Part {i}\n\n" + "Words of tea. " * 90 for i in range(number))
    taken = deliver(acme, {f"{i}.md": text if i == 0 else f"T{i}." for i in range(number)})
    document = taken.documents[0]
    with acting(acme):
        chunk = KnowledgeChunk.objects.of(acme).filter(document=document)[0]
    for path in (
        "",
        f"sources/{document.source_id}/",
        f"documents/{document.pk}/",
        f"chunks/{chunk.pk}/",
        "failures/",
    ):
        with django_assert_max_num_queries(18):
            assert at_desk.get(f"/knowledge/{path}").status_code == 200


def test_a_chunk_says_in_which_calls_it_was_used(
    at_desk: Client,
    acme: Account,
    rival: Account,
    django_assert_max_num_queries: Callable[[int], Any],
) -> None:
    parts = [f"## Part {i}\n\n" + f"The oolong harvest of part {i} was good. " * 40 for i in (1, 2)]
    for account in (acme, rival):
        deliver(account, {"h.md": "# Harvest\n\n" + "\n\n".join(parts), "other.md": "A cup."})
    with acting(acme):
        first, *_, last = (
            KnowledgeChunk.objects.of(acme).filter(document__ref="h.md").order_by("pk")
        )
    asked = [{"role": "user", "content": "Was the oolong harvest good?"}]
    made = [
        call(acme, asked, sources=("knowledge",), within=ArchiveScope(conversation_id=f"c{i}"))
        for i in range(12)
    ]
    call(rival, asked, sources=("knowledge",), within=ArchiveScope(conversation_id="theirs"))
    for chunk in (first, last):  # both are in one passage
        with django_assert_max_num_queries(14):
            said = page(at_desk.get(f"/knowledge/chunks/{chunk.pk}/"))
        shown = [each.report_id for each in made if f"/calls/{each.report_id}/" in said]
        assert shown == [each.report_id for each in made[-10:]]
        assert "theirs" not in said
        calls = page(at_desk.get("/calls/", {"cites": str(chunk.pk)}))
        assert calls.count('href="/calls/0') == len(made)
    with acting(acme):
        unused = KnowledgeChunk.objects.of(acme).get(document__ref="other.md")
    assert "No calls cite this chunk yet." in page(at_desk.get(f"/knowledge/chunks/{unused.pk}/"))
    assert "Nothing matches" in page(at_desk.get("/calls/", {"cites": str(unused.pk)}))
