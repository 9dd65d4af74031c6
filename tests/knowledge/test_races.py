"""Deliveries, re-chunking and unpacking at the same time: the newest delivery prevails."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import psycopg
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.db import connection
from django.test import Client

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account
from kmapp.ledger.models import Commit
from kmapp.ledger.read_verification import ObjectKey, verify_rows
from knowledge.actions import ingest, lore, page_fetches, parse_documents, reindex
from knowledge.actions.ingest import IngestResult
from knowledge.actions.parse_documents import parse_document, unpack_archive
from knowledge.actions.prepare_delivery import DeliveredFile, prepare_deliveries
from knowledge.actions.sources import NewSource, ensure_source
from knowledge.management.commands import knowledge as command
from knowledge.models import KnowledgeChunk, KnowledgeDocument, KnowledgeSource, KnowledgeText
from tests import makers
from tests.agent import Agent
from tests.knowledge import websites
from tests.knowledge.bombs import zip_archive
from tests.knowledge.builders import deliver
from tests.knowledge.websites import PAGE, Site
from tests.makers import settle


def call_before(
    monkeypatch: pytest.MonkeyPatch, module: Any, name: str, first: Any, *, times: int = 1
) -> list[Any]:
    """Call `first` before each of the first `times` calls of a function; return its results."""
    function = getattr(module, name)
    results: list[Any] = []

    def call(*args: Any, **kwargs: Any) -> Any:
        if len(results) < times:
            results.append(None)
            results[-1] = first()
        return function(*args, **kwargs)

    monkeypatch.setattr(module, name, call)
    return results


def is_chain_free(account: Account) -> bool:
    """Return whether another writer could append a commit now."""
    with psycopg.connect(**connection.get_connection_params()) as another:
        row = another.execute(
            "SELECT pg_try_advisory_xact_lock(hashtextextended(%s, 0))", [f"ledger:{account.pk}"]
        ).fetchone()
    return row == (True,)


def test_chain_is_not_locked_while_knowledge_is_written(
    committed: str, agent: Agent, acme: Account, reviewer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    check = partial(is_chain_free, acme)
    free = call_before(monkeypatch, ingest, "replace_chunks", check, times=9)
    for number in range(2):
        body = {
            "source": {"name": "repo", "revision": f"r{number}"},
            "documents": [{"ref": "a.md", "text": f"Tea {number}."}],
        }
        commits = makers.count(Commit, acme)
        answer = agent.post("knowledge/ingest", body)
        assert makers.count(Commit, acme) == commits + 1
        [source] = makers.rows(KnowledgeSource, acme)
        assert str(source.commit_id) == answer["commit_id"]
    delivered = len(free)
    assert delivered
    form = {"source": "Uploads", "kind": "upload", "trust": "", "revision": "r1"}
    file = SimpleUploadedFile("a.md", b"# Tea")
    assert reviewer.post("/knowledge/upload/", {**form, "uploads": [file]}).status_code == 302
    assert len(free) > delivered
    assert all(free)

    free = call_before(monkeypatch, lore, "_check_entry", check)
    new = NewSource(name="world", kind="lorebook")
    with acting(acme):
        lore.create_lorebook(acme.pk, SYSTEM, new, [{"content": "Lore.", "keys": ["tea"]}])
    assert free == [True]


def test_a_delivery_during_rechunking_prevails(
    acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    deliver(acme, {"a.md": "# One", "b.md": "# Removed", "c.md": "# Same"})
    call_before(
        monkeypatch,
        reindex,
        "parse_text",
        lambda: deliver(acme, {"a.md": "# Two"}, remove=["b.md"]),
    )
    call_command("knowledge", "index", "1", "2", account=acme.slug, verbosity=0)
    with acting(acme):
        chunks = KnowledgeChunk.objects.of(acme).order_by("document__ref", "index_version")
        assert list(chunks.values_list("text", "index_version")) == [
            ("# Two", "1"),
            ("# Two", "2"),
            ("# Same", "1"),
            ("# Same", "2"),
        ]


def list_index_versions(account: Account) -> list[str]:
    """Return the index versions of the chunks that contain “Two”."""
    with acting(account):
        chunks = KnowledgeChunk.objects.of(account).filter(text__contains="Two")
        return list(chunks.order_by("index_version").values_list("index_version", flat=True))


def test_a_source_loaded_before_rechunking_gets_chunks_of_all_versions(acme: Account) -> None:
    deliver(acme, {"a.md": "# One"})
    source = makers.get(KnowledgeSource, acme)
    call_command("knowledge", "index", "1", "2", account=acme.slug, verbosity=0)
    prepared = prepare_deliveries(source, [DeliveredFile.of("a.md", b"# Two")])
    with acting(acme):
        ingest.ingest_deliveries(source, SYSTEM, prepared)
    assert list_index_versions(acme) == ["1", "2"]


def test_a_file_parsed_during_rechunking_gets_chunks_of_all_versions(
    acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    deliver(acme, {"a.html": "<h1>Two</h1>"})
    index = partial(call_command, "knowledge", "index", "1", "2", account=acme.slug, verbosity=0)
    call_before(monkeypatch, parse_documents, "_store_text", index)
    settle()
    settle()  # the job that parses it again
    assert list_index_versions(acme) == ["1", "2"]


def test_a_file_removed_during_its_delivery_is_parsed(acme: Account) -> None:
    deliver(acme, {"a.md": "# A"})
    source = makers.get(KnowledgeSource, acme)
    prepared = prepare_deliveries(source, [DeliveredFile.of("a.md", b"# A")])
    deliver(acme, {}, remove=["a.md"])
    with acting(acme):
        result = ingest.ingest_deliveries(source, SYSTEM, prepared)
    settle()
    assert result.changed == ["a.md"]
    assert makers.get(KnowledgeChunk, acme).text == "# A"


def test_rechunking_seals_the_current_source(
    acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one", "two"):
        deliver(acme, {"a.md": "# A"}, name=name)
    call_before(
        monkeypatch, command, "reindex_source", lambda: deliver(acme, {}, name="two", revision="r2")
    )
    call_command("knowledge", "index", "1", "2", account=acme.slug, verbosity=0)
    sources = makers.rows(KnowledgeSource, acme)
    assert {(each.name, each.revision) for each in sources} == {("one", ""), ("two", "r2")}
    with acting(acme):
        verdict = verify_rows(acme.pk, sources)
    assert all(verdict.passes(ObjectKey.of(each)) for each in sources)


def test_a_replaced_archive_is_not_unpacked_further(
    acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parse_documents, "BATCH_FILES", 1)
    deliver(acme, {"repo.zip": zip_archive({"a.md": b"# A1", "b.md": b"# B1"})})
    first = makers.get(KnowledgeDocument, acme, ref="repo.zip")
    first.source = makers.get(KnowledgeSource, acme)

    def list_first_files() -> Iterator[tuple[str, bytes]]:
        yield "a.md", b"# A1"
        deliver(
            acme, {"repo.zip": zip_archive({"a.md": b"# A2", "b.md": b"# B2", "c.md": b"# C2"})}
        )
        parse_document(acme.pk, first.pk)
        yield "b.md", b"# B1"

    unpack_archive(first, list_first_files())
    settle()
    with acting(acme):
        documents = KnowledgeDocument.objects.of(acme).not_removed()
        texts = {
            text.document.ref: text.text
            for text in KnowledgeText.objects.of(acme).select_related("document")
            if text.version == text.document.version
        }
        assert documents.get(ref="repo.zip").state == "ready"
        assert {each.ref for each in documents} == {"repo.zip", *texts}
    assert texts == {"repo/a.md": "# A2", "repo/b.md": "# B2", "repo/c.md": "# C2"}


def test_an_archive_with_another_revision_is_left_to_its_own_job(
    acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = zip_archive({"a.md": b"# A", "b.md": b"# B"})
    monkeypatch.setattr(parse_documents, "BATCH_FILES", 1)
    deliver(acme, {"repo.zip": data}, revision="r1")
    first = makers.get(KnowledgeDocument, acme, ref="repo.zip")
    first.source = makers.get(KnowledgeSource, acme)

    def list_files() -> Iterator[tuple[str, bytes]]:
        yield "a.md", b"# A"
        deliver(acme, {"repo.zip": data}, revision="r2")
        yield "b.md", b"# B"

    unpack_archive(first, list_files())
    settle()
    documents = makers.rows(KnowledgeDocument, acme)
    assert {(each.revision, each.state) for each in documents} == {("r2", "ready")}


def test_a_title_delivered_while_a_file_is_parsed_stays(
    acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = b"<html><body><p>Hello there.</p></body></html>"
    deliver(acme, {"a.html": page})
    parse_file = parse_documents._parse_file  # noqa: SLF001

    def parse_slowly(*arguments: Any) -> Any:
        parsed = parse_file(*arguments)
        source = makers.get(KnowledgeSource, acme)
        prepared = prepare_deliveries(source, [DeliveredFile.of("a.html", page, title="New title")])
        with acting(acme):
            ingest.ingest_deliveries(source, SYSTEM, prepared)
        return parsed

    monkeypatch.setattr(parse_documents, "_parse_file", parse_slowly)
    settle()
    document = makers.get(KnowledgeDocument, acme)
    assert (document.title, document.state) == ("New title", "ready")


def prepare_page_delivery(account: Account) -> Callable[[str], IngestResult]:
    """Create a source; return a function that delivers a page of it to be fetched from a URL."""
    with acting(account):
        source = ensure_source(account.pk, SYSTEM, NewSource(name="web"))

    def deliver_page(address: str) -> IngestResult:
        prepared = prepare_deliveries(source, [DeliveredFile(ref="page", pieces=(), url=address)])
        with acting(account):
            return ingest.ingest_deliveries(source, SYSTEM, prepared)

    return deliver_page


def test_another_url_delivered_while_a_page_is_fetched_is_fetched(
    acme: Account, site: Site, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.KNOWLEDGE_FETCH_PRIVATE = [site.netloc]
    url, deliver_page = f"http://{site.netloc}/page", prepare_page_delivery(acme)
    assert len(deliver_page(url).events) == 1
    meanwhile = call_before(
        monkeypatch, page_fetches, "prepare_deliveries", lambda: deliver_page(f"{url}/new")
    )
    settle()
    settle()  # the job of the second delivery
    assert len(meanwhile[0].events) == 1
    document = makers.get(KnowledgeDocument, acme)
    assert (document.url, document.state, document.version) == (f"{url}/new", "ready", 1)


def test_page_that_is_fetched_again_has_its_new_title(
    acme: Account, site: Site, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.KNOWLEDGE_FETCH_PRIVATE = [site.netloc]
    deliver_page = prepare_page_delivery(acme)
    for title in (b"Green tea", b"White tea"):
        monkeypatch.setattr(websites, "PAGE", PAGE.replace(b"Green tea", title))
        deliver_page(f"http://{site.netloc}/page")
        settle()
        settle()
        assert makers.get(KnowledgeDocument, acme).title == title.decode()


def test_the_same_url_delivered_while_its_fetch_is_pending_is_fetched_once(
    acme: Account, site: Site, settings: Any
) -> None:
    settings.KNOWLEDGE_FETCH_PRIVATE = [site.netloc]
    deliver_page = prepare_page_delivery(acme)
    results = [deliver_page(f"http://{site.netloc}/page") for _ in range(2)]
    settle()
    assert [len(each.events) for each in results] == [1, 0]
    assert len(site.hosts) == 1
