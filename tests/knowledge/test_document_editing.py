"""Writing and editing of documents: saving, drafts, conflicts, versions, images, rendering."""

import re
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries as MaxQueries

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.ledger.models import Commit
from kmapp.ledger.verify import verify_account
from kmapp.web.three_way_merge import has_conflict_marks, merge_texts
from knowledge.actions.document_editing import MAX_LENGTH
from knowledge.models import KnowledgeDocument, KnowledgeDraft, KnowledgeImage, KnowledgeText
from knowledge.retrieval.search import KnowledgeSearch, search
from tests import makers
from tests.knowledge.builders import deliver, draw_image
from tests.makers import settle
from tests.timing import assert_linear
from tests.web.pages import HTMX, default_button, page

WRITE = "/knowledge/write/"
TEA = "# Tea\n\nOolong at 95 degrees.\n\nGreen tea at 80.\n"


def save(client: Client, document: KnowledgeDocument, text: str, version: int, **more: Any) -> Any:
    url = f"/knowledge/documents/{document.pk}/edit/"
    return client.post(url, {"text": text, "version": version, **more})


def test_a_written_document_is_found_by_agents_and_recorded(
    reviewer: Client, acme: Account
) -> None:
    assert "New document" in page(reviewer.get("/knowledge/write/"))
    new = {"title": "White tea", "source": "Handbook", "folder": "guides//tea/../", "version": 0}
    text = "White tea is dried in the sun.\r\n\r\n## Storage\r\n\r\nKeep it dry."
    answer = reviewer.post("/knowledge/write/", {**new, "text": text})
    document = makers.get(KnowledgeDocument, acme)
    assert answer.headers["Location"] == f"/knowledge/documents/{document.pk}/"
    assert (document.ref, document.title) == ("guides/tea/white-tea.md", "White tea")
    assert makers.rows(KnowledgeText, acme)[0].text.startswith("# White tea\n\nWhite tea is dried")
    with acting(acme):
        [commit] = Commit.objects.of(acme).filter(pk=document.commit_id)
        assert commit.actor.startswith("user:")
    progress = f"/knowledge/documents/{document.pk}/progress/"
    assert "chunks have embeddings pending" in page(reviewer.get(progress))
    settle()
    assert "1 chunk can be found by keyword and meaning" in page(reviewer.get(progress))
    [snippet] = search(acme.pk, KnowledgeSearch(query="How is white tea dried?")).snippets
    assert snippet.chunks[0].document_id == document.pk
    assert snippet.chunks[0].document.source.trust == "trusted"
    again = reviewer.post("/knowledge/write/", {**new, "text": text})
    assert "exists in this source" in page(again, 422)
    assert "required" in page(reviewer.post("/knowledge/write/", {**new, "title": ""}), 422)


def test_an_edit_becomes_the_next_version_which_can_be_restored(
    reviewer: Client, acme: Account, max_queries: MaxQueries
) -> None:
    [document] = deliver(acme, {"tea.md": TEA, "scan.pdf": b"%PDF-broken"}).documents[:1]
    edited = TEA.replace("95", "90")
    here = f"/knowledge/documents/{document.pk}/"
    assert save(reviewer, document, TEA, 1).status_code == 302
    assert "Nothing changed" in page(reviewer.get(here))
    assert save(reviewer, document, edited, 1).status_code == 302
    with max_queries(16):
        assert "90 degrees" in page(reviewer.get(here))
    with max_queries(16):
        page_text = page(reviewer.get(f"{here}versions/"))
    assert re.search(r"<del>95</del><ins>90</ins>", page_text)
    restore = f"{here}restore/"
    assert reviewer.post(restore, {"to": 1, "version": 1}).status_code == 409
    assert reviewer.post(restore, {"to": 9, "version": 2}).status_code == 404
    assert reviewer.post(restore, {"to": 1, "version": 2}).status_code == 302
    texts = sorted(makers.rows(KnowledgeText, acme), key=lambda text: text.version)
    assert [text.text for text in texts] == [TEA, edited, TEA]
    assert verify_account(acme.pk).ok
    pdf = makers.get(KnowledgeDocument, acme, ref="scan.pdf")
    assert reviewer.get(f"/knowledge/documents/{pdf.pk}/edit/").status_code == 409


@pytest.mark.parametrize("underline", ["=", "~"])
def test_a_new_heading_of_a_plain_text_is_its_title(
    reviewer: Client, acme: Account, underline: str
) -> None:
    def underlined(title: str) -> str:
        return f"{title}\n{underline * len(title)}\n\nOf clay.\n"

    [document] = deliver(acme, {"cups.txt": underlined("Cups")}).documents
    assert document.title == "Cups"
    assert save(reviewer, document, underlined("Pots"), 1).status_code == 302
    assert makers.get(KnowledgeDocument, acme).title == "Pots"


def test_a_text_that_is_too_long_to_be_saved_is_not_edited(reviewer: Client, acme: Account) -> None:
    [document] = deliver(acme, {"tea.md": TEA + "Weighed. " * (MAX_LENGTH // 9)}).documents
    settle()
    here = f"/knowledge/documents/{document.pk}/"
    # The second file is short but cannot be parsed, so the long text stays.
    deliveries: list[dict[str, bytes]] = [{}, {"tea.md": b"\x00"}]
    for files in deliveries:
        deliver(acme, files)
        displayed = page(reviewer.get(here))
        assert (f"{here}edit/" in displayed, 'class="markdown"' in displayed) == (False, False)
        assert reviewer.get(f"{here}edit/").status_code == 409
    deliver(acme, {"tea.md": TEA})
    assert f"{here}edit/" in page(reviewer.get(here))


def test_versions_are_compared_on_the_page_that_lists_them(
    reviewer: Client, acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("knowledge.views.versions.MAX_VERSIONS", 2)
    [document] = deliver(acme, {"tea.md": TEA}).documents
    for version in (1, 2, 3):
        assert save(reviewer, document, f"{TEA} {version}", version).status_code == 302
    here = f"/knowledge/documents/{document.pk}/versions/"
    assert 'name="page"' not in page(reviewer.get(here))
    text = page(reviewer.get(here, {"page": "2", "from": "1", "to": "2"}))
    assert makers.missing(text, 'name="page" value="2"', "Changes from version 1 to") == []


def test_changes_of_two_people_are_merged_or_marked(reviewer: Client, acme: Account) -> None:
    [document] = deliver(acme, {"tea.md": TEA}).documents
    assert save(reviewer, document, TEA.replace("95", "90"), 1).status_code == 302
    merged = page(save(reviewer, document, TEA.replace("at 80", "at 75"), 1), 409)
    assert "combines both changes" in merged
    assert "Oolong at 90 degrees.\n\nGreen tea at 75." in merged
    marked = page(save(reviewer, document, TEA.replace("95", "85"), 1), 409)
    assert "&lt;&lt;&lt;&lt;&lt;&lt;&lt; current version\nOolong at 90" in marked
    draft = makers.rows(KnowledgeDraft, acme)[0]
    assert (draft.base_version, has_conflict_marks(draft.text)) == (2, True)
    assert "remove the marks" in page(save(reviewer, document, draft.text, 2), 422)
    assert makers.get(KnowledgeDocument, acme).version == 2
    assert save(reviewer, document, TEA.replace("95", "85"), 2).status_code == 302
    assert makers.rows(KnowledgeDraft, acme) == []


def test_marks_that_a_document_explains_can_be_saved(reviewer: Client, acme: Account) -> None:
    text = "# Git\r\n\r\n```\r\n<<<<<<< HEAD\r\n95\r\n=======\r\n90\r\n>>>>>>> main\r\n```\r\n"
    [document] = deliver(acme, {"git.md": text}).documents
    edited = text.replace("# Git", "# Conflicts in Git")
    assert save(reviewer, document, edited, 1).status_code == 302
    merged = edited.replace("95", "<<<<<<< your text\r\n95\r\n>>>>>>> current version")
    assert "remove the marks" in page(save(reviewer, document, merged, 2), 422)


@pytest.mark.parametrize(
    ("theirs", "mine", "text", "conflicts"),
    [
        ("a\nB\nc", "a\nb\nc\nd", "a\nB\nc\nd", 0),
        ("a\nb\nc", "a\nb", "a\nb", 0),
        ("a\nX\nc", "a\nY\nc", "a\n<<<<<<< T\nX\n=======\nY\n>>>>>>> M\nc", 1),
        ("", "", "", 0),
    ],
)
def test_merge_by_lines(theirs: str, mine: str, text: str, conflicts: int) -> None:
    merged = merge_texts("a\nb\nc", theirs, mine, their_name="T", my_name="M")
    assert (merged.text, merged.conflicts) == (text, conflicts)


@pytest.mark.parametrize("lines", [1, 10, 110])
def test_merge_of_repeated_lines_is_linear(lines: int) -> None:
    def merge(size: int) -> None:
        base = [f"line {i * i % lines}" for i in range(size)]
        texts = ("\n".join(base[start:]) for start in (0, 3, 5))
        merge_texts(*texts, their_name="T", my_name="M")

    for size in (500, 2_500, 10_000):
        assert_linear(merge, size)


def test_lines_that_the_merge_does_not_reach_are_a_conflict(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("kmapp.web.diff._MAX_STEPS", 2)
    merged = merge_texts("a\nb\nc", "a\nX\nc", "a\nb\nc\nd", their_name="T", my_name="M")
    expected = "<<<<<<< T\na\nX\nc\n=======\na\nb\nc\nd\n>>>>>>> M"
    assert (merged.text, merged.conflicts) == (expected, 1)


def test_drafts_belong_to_one_person(reviewer: Client, admin: Client, acme: Account) -> None:
    [document] = deliver(acme, {"tea.md": TEA}).documents
    url = f"/knowledge/documents/{document.pk}/edit/"
    draft = {"do": "draft", "text": "# Tea\n\n*Half* a thought", "version": 1}
    answer = page(reviewer.post(url, draft, headers=HTMX))
    assert ("Draft saved at" in answer, "<em>Half</em>" in answer) == (True, True)
    text = page(reviewer.get(url))
    assert "Your draft is restored" in text
    assert default_button(text, "data-editor") == '<button type="submit" hidden>', "Enter saves"
    assert '<form id="discard" method="post">' in text
    assert "Half" not in page(admin.get(url))
    assert reviewer.post(url, {**draft, "text": "# Tea\n\nAnother thought"}).status_code == 302
    assert "Another thought" in page(reviewer.get(url))
    assert "Another thought" not in page(reviewer.get(f"/knowledge/documents/{document.pk}/"))
    long = f"# Tea\r\n{'x' * MAX_LENGTH}"
    assert reviewer.post(url, {**draft, "text": long, "version": 2**31}).status_code == 302
    [kept] = makers.rows(KnowledgeDraft, acme)
    assert (kept.text, kept.base_version) == (long.replace("\r", ""), 0), (
        "too long only to be saved"
    )
    reviewer.post(url, {"do": "discard"})
    assert makers.rows(KnowledgeDraft, acme) == []
    new = {"do": "draft", "title": "Half", "text": "One", "version": 0}
    for text in ("One", "Two"):  # the second draft replaces the first
        reviewer.post("/knowledge/write/", {**new, "text": text})
    assert [each.text for each in makers.rows(KnowledgeDraft, acme)] == ["Two"]
    assert "Two" in page(reviewer.get("/knowledge/write/"))


def test_draft_that_arrives_after_the_document_is_saved_is_not_stored(
    reviewer: Client, acme: Account
) -> None:
    opened_at = re.findall(r'name="opened_at" value="([^"]+)"', page(reviewer.get(WRITE)))[0]
    new = {"title": "White tea", "source": "Handbook", "version": 0, "text": "Dried in the sun."}
    assert reviewer.post(WRITE, {**new, "opened_at": opened_at}).status_code == 302
    late = {**new, "do": "draft", "opened_at": opened_at}
    assert "Draft saved at" not in page(reviewer.post(WRITE, late, headers=HTMX))
    assert makers.rows(KnowledgeDraft, acme) == []
    for other in ({"title": "Green tea"}, {"opened_at": timezone.now().isoformat()}):
        assert "Draft saved at" in page(reviewer.post(WRITE, late | other, headers=HTMX))


def test_images_are_checked_and_served_to_members_only(
    reviewer: Client, acme: Account, rival: Account
) -> None:
    [document] = deliver(acme, {"tea.md": TEA}).documents

    def insert(data: bytes, name: str = "cup.png", **more: Any) -> Any:
        file = SimpleUploadedFile(name, data)
        return save(reviewer, document, TEA, 1, do="image", image=file, **more)

    assert insert(draw_image(), cursor=5).status_code == 302
    [image] = makers.rows(KnowledgeImage, acme)
    url = f"/knowledge/images/{image.sha256}/"
    [draft] = makers.rows(KnowledgeDraft, acme)
    assert draft.text.startswith(f"# Tea\n\n![cup.png]({url})\n\nOolong")
    served = reviewer.get(url)
    assert (served.headers["Content-Type"], served.content) == ("image/png", draw_image())
    assert served.headers["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in served.headers["Content-Security-Policy"]
    rin = makers.signed_in(makers.member(rival, "rin", role="admin"))
    assert rin.get(url).status_code == 404
    for data in (b"<svg xmlns='http://www.w3.org/2000/svg'/>", b"", draw_image()[:40], b"%PDF-1.7"):
        assert "This is not an image" in page(insert(data), 422)
    assert "too many pixels" in page(insert(draw_image(size=(8000, 5100))), 422)
    assert "too large" in page(insert(draw_image() + b"0" * 2**22), 422)
    assert save(reviewer, document, draft.text, 1).status_code == 302
    assert f'src="{url}"' in page(reviewer.get(f"/knowledge/documents/{document.pk}/"))
    assert reviewer.post(f"/knowledge/documents/{document.pk}/erase/").status_code == 302
    assert makers.rows(KnowledgeImage, acme) == []


def test_markdown_is_rendered_without_foreign_content(reviewer: Client, acme: Account) -> None:
    [memory] = makers.write(acme, "Tea is weighed.")
    text = f"""# Guide

<script>alert(1)</script> <b onclick=x>bold</b> <div hx-get="/canary" hx-trigger="load">x</div>

[run](javascript:alert(1)) [other](other.md) [away](https://tea.example/) \u202e

![track](https://evil.example/x.png) ![up](/knowledge/images/../../sign-out/)

| a | b |
|:--|--:|
| 1 | 2 |

[[memory:{memory.pk}]] [[memory:{acme.pk}]]
"""
    [document] = deliver(acme, {"guide.md": text}).documents
    page_text = page(reviewer.get(f"/knowledge/documents/{document.pk}/"))
    reading = page_text.partition('<div class="markdown"')[2].partition(
        'aria-labelledby="usage-title"'
    )[0]
    for forbidden in ("<script", "<b ", "<div hx-get", 'javascript:alert(1)"', "<img", "style="):
        assert forbidden not in reading, forbidden
    assert 'href="https://tea.example/" rel="noopener noreferrer nofollow"' in reading
    assert 'href="https://evil.example/x.png"' in reading
    assert ("other.md" not in reading, "U+202E" in reading) == (True, True)
    assert f'href="/memory/{memory.pk}/"' in reading
    assert ">Tea is weighed.</a>" in reading
    assert f"[[memory:{acme.pk}]]</code>" in reading
