"""New titles, addresses and revisions of unchanged files."""

from base64 import b64encode
from typing import Any

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.search.models import IndexedDocument
from knowledge.models import KnowledgeDocument, KnowledgePiece
from tests import makers
from tests.agent import Agent
from tests.fake_provider import FakeProvider
from tests.knowledge.bombs import zip_archive
from tests.knowledge.builders import deliver
from tests.knowledge.test_ingesting import GUIDE, embedded_texts
from tests.makers import settle


def test_metadata_of_an_unchanged_file_is_updated(
    agent: Agent, acme: Account, provider: FakeProvider
) -> None:
    def deliver_guide(revision: str, **fields: str) -> Any:
        document = {"ref": "tea.md", "text": GUIDE, **fields}
        source = {"name": "docs", "revision": revision}
        return agent.post("knowledge/ingest", {"source": source, "documents": [document]})

    first = deliver_guide("r1")
    settle()
    provider.seen.clear()
    second = deliver_guide("r2", title="Oolong", url="https://tea.test/")
    assert (second["changed"], second["unchanged"]) == (["tea.md"], [])
    [document] = second["documents"]
    assert (document["version"], document["commit_id"]) == (1, second["commit_id"])
    assert (document["url"], document["title"]) == ("https://tea.test/", "Oolong")
    assert second["chunks"] == {"kept": 0, "made": 0, "retired": 0}
    settle()
    parts = embedded_texts(provider)
    assert len(parts) >= first["chunks"]["made"]
    assert all("Oolong > " in part for part in parts)
    search = {"query": "oolong", "version": "r2"}
    results = agent.post("knowledge/search", search, 200)["results"]
    assert {each["title"] for each in results} == {"Oolong"}
    with acting(acme):
        documents = IndexedDocument.objects.of(acme)
        assert documents.filter(terms__has_key="oolong").count() == first["chunks"]["made"]
    again = deliver_guide("r2")
    assert (again["unchanged"], again["commit_id"]) == (["tea.md"], None)
    assert again["documents"][0]["title"] == "Oolong"


def test_files_of_an_unchanged_archive_get_its_revision(acme: Account) -> None:
    archive = {"repo.zip": zip_archive({"a.md": b"# A", "b.md": b"# B"})}
    deliver(acme, archive, revision="r1")
    settle()
    assert deliver(acme, archive, revision="r1").unchanged == ["repo.zip"]
    assert deliver(acme, archive, revision="r2").changed == ["repo.zip"]
    settle()
    documents = makers.rows(KnowledgeDocument, acme)
    assert {(each.ref, each.revision, each.state) for each in documents} == {
        (ref, "r2", "ready") for ref in ("repo.zip", "repo/a.md", "repo/b.md")
    }
    assert {each.version for each in documents} == {0, 1}


def test_complete_delivery_keeps_files_of_its_archives(agent: Agent, acme: Account) -> None:
    data = b64encode(zip_archive({"tea.md": GUIDE.encode()})).decode()

    def deliver_archives(*names: str) -> Any:
        documents = [{"ref": name, "content_base64": data} for name in names]
        body = {"source": {"name": "docs"}, "documents": documents, "complete": True}
        return agent.post("knowledge/ingest", body)

    deliver_archives("a.zip", "b.zip")
    settle()
    again = deliver_archives("a.zip")
    assert (again["unchanged"], sorted(again["removed"])) == (["a.zip"], ["b.zip", "b/tea.md"])
    settle()
    results = agent.post("knowledge/search", {"query": "hill 3"}, 200)["results"]
    assert {each["citations"][0]["locator"]["path"] for each in results} == {"a/tea.md"}


def test_file_waits_for_its_parser_with_new_metadata(acme: Account) -> None:
    deliver(acme, {"a.pdf": b"%PDF-1.4 nothing"}, revision="r1")
    assert deliver(acme, {"a.pdf": b"%PDF-1.4 nothing"}, revision="r2").changed == ["a.pdf"]
    assert makers.count(KnowledgePiece, acme) == 1
    assert makers.get(KnowledgeDocument, acme).state == "pending"
