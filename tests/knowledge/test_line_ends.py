"""Documents with the line ends of Windows are edited like others."""

from typing import Any

from django.test import Client

from kmapp.accounts.models import Account
from knowledge.models import KnowledgeDocument, KnowledgeDraft
from tests import makers
from tests.knowledge.builders import deliver
from tests.web.pages import page

TEA = "# Tea\r\n\r\nOolong.\r\n\r\nServe hot.\r\n"


def edit(client: Client, document: KnowledgeDocument, text: str, operation: str = "") -> Any:
    values = {"text": text, "version": 1, "do": operation}
    return client.post(f"/knowledge/documents/{document.pk}/edit/", values)


def test_unchanged_text_is_no_new_version(reviewer: Client, acme: Account) -> None:
    [document] = deliver(acme, {"tea.md": TEA}).documents
    assert edit(reviewer, document, TEA).status_code == 302
    assert makers.get(KnowledgeDocument, acme).version == 1


def test_unchanged_draft_is_not_restored(reviewer: Client, acme: Account) -> None:
    [document] = deliver(acme, {"tea.md": TEA}).documents
    assert edit(reviewer, document, TEA, "draft").status_code == 302
    assert makers.count(KnowledgeDraft, acme) == 1
    text = page(reviewer.get(f"/knowledge/documents/{document.pk}/edit/"))
    assert "Your draft is restored" not in text


def test_changes_of_two_people_are_merged(reviewer: Client, admin: Client, acme: Account) -> None:
    [document] = deliver(acme, {"tea.md": TEA}).documents
    assert edit(admin, document, TEA.replace("Oolong", "Green tea")).status_code == 302
    merged = page(edit(reviewer, document, TEA.replace("hot", "cold")), 409)
    assert "Green tea.\n\nServe cold." in merged
    assert "&lt;&lt;&lt;&lt;" not in merged
