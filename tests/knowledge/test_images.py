"""Images of documents: large ones are refused unread, and those in no text are deleted."""

from typing import Any

import pytest
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from kmapp.accounts.models import Account
from kmapp.database.raw_sql import fetch_all
from knowledge.actions import images
from knowledge.jobs.tasks import delete_orphaned_images
from knowledge.models import KnowledgeDocument, KnowledgeDraft, KnowledgeImage
from tests import makers
from tests.knowledge.builders import deliver, draw_image
from tests.web.pages import page

TEA = "# Tea\n\nOolong at 95 degrees.\n"


def edit(client: Client, document: KnowledgeDocument, operation: str = "", **more: Any) -> Any:
    values = {"text": TEA, "version": 1, "do": operation, **more}
    return client.post(f"/knowledge/documents/{document.pk}/edit/", values)


def insert(client: Client, document: KnowledgeDocument) -> Any:
    return edit(client, document, "image", image=SimpleUploadedFile("cup.png", draw_image()))


def count_images(account: Account) -> int:
    return len(makers.rows(KnowledgeImage, account))


def test_a_large_image_is_refused_before_it_is_read(
    reviewer: Client, acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    [document] = deliver(acme, {"tea.md": TEA}).documents
    monkeypatch.setattr("knowledge.actions.images.MAX_BYTES", len(draw_image()) - 1)
    monkeypatch.setattr("knowledge.views.document_editing.store_image", None)
    assert "too large" in page(insert(reviewer, document), 422)


def test_the_images_of_a_discarded_draft_are_deleted(reviewer: Client, acme: Account) -> None:
    [document] = deliver(acme, {"tea.md": TEA}).documents
    assert insert(reviewer, document).status_code == 302
    assert count_images(acme) == 1
    assert edit(reviewer, document, "discard").status_code == 302
    assert count_images(acme) == 0


def test_saving_retains_only_the_images_of_the_text(reviewer: Client, acme: Account) -> None:
    [document] = deliver(acme, {"tea.md": TEA}).documents
    assert insert(reviewer, document).status_code == 302
    [draft] = makers.rows(KnowledgeDraft, acme)
    assert edit(reviewer, document, text=draft.text).status_code == 302
    assert (makers.rows(KnowledgeDraft, acme), count_images(acme)) == ([], 1)
    assert insert(reviewer, document).status_code == 302  # the saved text contains this image
    assert edit(reviewer, document, "discard").status_code == 302
    assert count_images(acme) == 1


def test_saving_searches_no_other_texts_for_the_images_of_the_text(
    reviewer: Client, acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    [document] = deliver(acme, {"tea.md": TEA}).documents
    assert insert(reviewer, document).status_code == 302
    [draft] = makers.rows(KnowledgeDraft, acme)
    monkeypatch.setattr("knowledge.actions.images._is_used", None)
    assert edit(reviewer, document, text=draft.text).status_code == 302
    assert (makers.rows(KnowledgeDraft, acme), count_images(acme)) == ([], 1)


def test_an_image_removed_before_saving_is_deleted(reviewer: Client, acme: Account) -> None:
    [document] = deliver(acme, {"tea.md": TEA}).documents
    assert insert(reviewer, document).status_code == 302
    assert edit(reviewer, document, text=f"{TEA}\nGreen tea at 80.\n").status_code == 302
    assert count_images(acme) == 0


def test_search_of_all_texts_has_more_time(
    reviewer: Client, acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    [document] = deliver(acme, {"tea.md": TEA}).documents
    assert insert(reviewer, document).status_code == 302
    limits: list[Any] = []

    def read_limit(*_arguments: Any) -> bool:
        limits.extend(fetch_all("SELECT current_setting('statement_timeout')", []))
        return False

    monkeypatch.setattr(images, "_is_used", read_limit)
    assert edit(reviewer, document, "discard").status_code == 302
    assert limits == [("1min",)]


def test_an_image_of_another_draft_is_retained(
    reviewer: Client, admin: Client, acme: Account
) -> None:
    result = deliver(acme, {"tea.md": TEA, "cups.md": "# Cups\n\nOf clay.\n"})
    tea, cups = result.documents
    assert insert(reviewer, tea).status_code == 302
    assert insert(admin, tea).status_code == 302
    assert insert(admin, cups).status_code == 302
    assert edit(reviewer, tea, "discard").status_code == 302
    assert count_images(acme) == 1
    assert reviewer.post(f"/knowledge/documents/{tea.pk}/erase/").status_code == 302
    assert count_images(acme) == 1
    assert reviewer.post(f"/knowledge/documents/{cups.pk}/erase/").status_code == 302
    assert (makers.rows(KnowledgeDraft, acme), count_images(acme)) == ([], 0)


def test_old_images_that_no_text_contains_are_deleted(
    reviewer: Client, admin: Client, acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    tea, cups = deliver(acme, {"tea.md": TEA, "cups.md": "# Cups\n\nOf clay.\n"}).documents
    used, orphaned = draw_image(1), draw_image(2)
    for client, document, data in ((admin, cups, used), (reviewer, tea, orphaned)):
        file = SimpleUploadedFile("cup.png", data)
        assert edit(client, document, "image", image=file).status_code == 302
    assert edit(reviewer, tea, "draft").status_code == 302  # without the image
    assert reviewer.post(f"/knowledge/documents/{tea.pk}/erase/").status_code == 302
    assert count_images(acme) == 2
    assert delete_orphaned_images() == 0, "recent"
    monkeypatch.setattr(images, "ORPHAN_AGE", -images.ORPHAN_AGE)
    assert delete_orphaned_images() == 1
    [remaining] = makers.rows(KnowledgeImage, acme)
    assert bytes(remaining.data) == used
    [draft] = makers.rows(KnowledgeDraft, acme)
    assert edit(admin, cups, text=draft.text).status_code == 302
    assert delete_orphaned_images() == 0, "in a saved text"
    scheduled = {entry["task"] for entry in settings.CELERY_BEAT_SCHEDULE.values()}
    assert delete_orphaned_images.name in scheduled
