"""Titles of documents, from their files or from their deliveries."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from io import BytesIO

import pytest

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account
from knowledge.actions import page_fetches, parse_documents
from knowledge.actions.ingest import ingest_deliveries
from knowledge.actions.parse_documents import retry_document
from knowledge.actions.prepare_delivery import DeliveredFile, prepare_deliveries
from knowledge.fetching.fetch import Page
from knowledge.models import KnowledgeDocument, KnowledgeSource, KnowledgeText
from tests import makers
from tests.knowledge.builders import deliver
from tests.makers import settle


def titled_page(title: str) -> bytes:
    return f"<html><head><title>{title}</title></head><body><p>Oolong.</p></body></html>".encode()


def test_replaced_file_has_its_own_title(acme: Account) -> None:
    for title in ("Report 2024", "Report 2025"):
        deliver(acme, {"a.html": titled_page(title)})
        settle()
        assert makers.get(KnowledgeDocument, acme).title == title
    assert makers.count(KnowledgeText, acme) == 1


def test_title_is_stored_without_characters_that_the_database_refuses(acme: Account) -> None:
    deliver(acme, {"a.html": titled_page("Green\x00 tea")})
    settle()
    document = makers.get(KnowledgeDocument, acme)
    assert (document.title, document.state) == ("Green tea", "ready")


def test_titles_of_drawings_are_no_part_of_the_title(acme: Account) -> None:
    drawing = b"<svg><title>Logo</title></svg>"
    deliver(acme, {"a.html": titled_page("Green tea").replace(b"<p>", drawing + b"<p>")})
    settle()
    assert makers.get(KnowledgeDocument, acme).title == "Green tea"
    assert makers.get(KnowledgeText, acme).text == "Oolong."


def test_retried_file_has_its_own_title(acme: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    deliver(acme, {"a.html": titled_page("Report 2024")})
    settle()
    with monkeypatch.context() as patched:
        patched.setattr(parse_documents, "find_format", lambda *_: None)
        deliver(acme, {"a.html": titled_page("Report 2025")})
        settle()
        document = makers.get(KnowledgeDocument, acme)
        for _ in range(2):
            document = makers.get(KnowledgeDocument, acme)
            assert (document.title, document.state) == ("Report 2024", "failed")
            with acting(acme):
                retry_document(acme.pk, document.pk)
            settle()
    with acting(acme):
        retry_document(acme.pk, document.pk)
    settle()
    document = makers.get(KnowledgeDocument, acme)
    assert (document.title, document.state) == ("Report 2025", "ready")


def test_title_delivered_for_a_pending_file_stays(acme: Account) -> None:
    deliver(acme, {"a.html": titled_page("Report 2024")})
    settle()
    data = titled_page("Report 2025")
    deliver(acme, {"a.html": data})
    source = makers.get(KnowledgeSource, acme)
    prepared = prepare_deliveries(source, [DeliveredFile.of("a.html", data, title="Yearly report")])
    with acting(acme):
        ingest_deliveries(source, SYSTEM, prepared)
    settle()
    document = makers.get(KnowledgeDocument, acme)
    assert (document.title, document.state) == ("Yearly report", "ready")


@pytest.mark.parametrize("former", ["", "Notes"])
@pytest.mark.parametrize(
    "page", [("text/markdown", b"# Oolong"), ("text/html", titled_page("Tea"))]
)
def test_title_delivered_for_a_fetched_page_stays(
    acme: Account, monkeypatch: pytest.MonkeyPatch, former: str, page: tuple[str, bytes]
) -> None:
    address = "https://tea.test/page"
    deliver(acme, {}, name="web")
    source = makers.get(KnowledgeSource, acme)

    def deliver_page(title: str) -> None:
        delivery = DeliveredFile(ref="page", pieces=(), title=title, url=address)
        with acting(acme):
            ingest_deliveries(source, SYSTEM, prepare_deliveries(source, [delivery]))

    @contextmanager
    def fetch_meanwhile(*_: object) -> Iterator[Page]:
        deliver_page("Handbook")
        yield Page(url=address, mime=page[0], file=BytesIO(page[1]), fetched_at=datetime.now(UTC))

    monkeypatch.setattr(page_fetches, "fetch_page", fetch_meanwhile)
    deliver_page(former)
    settle()
    settle()
    document = makers.get(KnowledgeDocument, acme)
    assert (document.title, document.state) == ("Handbook", "ready")
