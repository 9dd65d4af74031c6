"""Pages are fetched from allowed hosts, and no other host is contacted."""

import socket
import ssl
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import Mock
from urllib.parse import quote

import httpcore2
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from django.test import Client
from django.utils import translation

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.errors import ReadOnly
from kmapp.security.egress import allowed_urls
from knowledge.actions import page_fetches, prepare_delivery
from knowledge.actions.parse_documents import retry_document
from knowledge.actions.prepare_delivery import DeliveredFile
from knowledge.fetching import fetch
from knowledge.models import KnowledgeChunk, KnowledgeDocument, KnowledgeSource
from knowledge.parsing.failure_messages import translate_failure
from tests.agent import Agent
from tests.fake_provider import FakeProvider
from tests.knowledge.builders import deliver
from tests.knowledge.hostile_urls import NAMES, NUMBERS, ODD, PUBLIC
from tests.knowledge.websites import PAGE, Canary, Site
from tests.makers import settle

pytestmark = pytest.mark.promise(36)

REDIRECT_TARGETS = ("http://127.0.0.1/a", "http://inside.test/a")
FetchPage = Callable[..., KnowledgeDocument]


class Network:
    """A resolver controlled by an attacker, and a network where only the loopback answers."""

    def __init__(self) -> None:
        self.resolved: list[str] = []
        self.connected: list[str] = []
        self.records = {"inside.test": ["127.0.0.1"], "mixed.test": [PUBLIC, "127.0.0.1"]}
        self.getaddrinfo = socket.getaddrinfo

    def resolve(self, host: Any, port: Any, *args: Any, **kwargs: Any) -> Any:
        self.resolved.append(str(host))
        if host == "flips.test":  # public when it is checked, loopback when it is connected to
            results = [PUBLIC if self.resolved.count(host) == 1 else "127.0.0.1"]
        else:
            results = self.records.get(host, [host])
        return [each for one in results for each in self.getaddrinfo(one, port, *args, **kwargs)]


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> Network:
    network = Network()
    connect_tcp = httpcore2.AnyIOBackend.connect_tcp

    async def connect(backend: Any, host: str, *args: Any, **kwargs: Any) -> Any:
        network.connected.append(host)
        if host != "127.0.0.1":
            raise httpcore2.ConnectError("unreachable")
        return await connect_tcp(backend, host, *args, **kwargs)

    monkeypatch.setattr(httpcore2.AnyIOBackend, "connect_tcp", connect)
    monkeypatch.setattr(socket, "getaddrinfo", network.resolve)
    return network


@pytest.fixture
def fetch_page(agent: Agent, acme: Account, site: Site, settings: Any) -> FetchPage:
    """A function that has an agent fetch a page of the site."""
    settings.KNOWLEDGE_FETCH_PRIVATE = [site.netloc]

    def fetch_and_embed(path: str, ref: str = "page") -> KnowledgeDocument:
        document = {"ref": ref, "url": f"http://{site.netloc}{path}", "fetch": True}
        source = {"name": "web", "kind": "web_snapshot"}
        answer = agent.post("knowledge/ingest", {"source": source, "documents": [document]})
        assert len(answer["event_ids"]) == 1
        settle()
        settle()  # embed the parsed text
        with acting(acme):
            return KnowledgeDocument.objects.of(acme).get(ref=ref)

    return fetch_and_embed


@pytest.fixture
def canary_on_default_ports(canary: Canary, monkeypatch: pytest.MonkeyPatch) -> Canary:
    """The canary on the default ports, so that no URL is rejected for its port."""
    for scheme in allowed_urls.PORTS:
        monkeypatch.setitem(allowed_urls.PORTS, scheme, canary.port)
    return canary


def test_no_hostile_url_reaches_the_canary(
    agent: Agent,
    acme: Account,
    canary_on_default_ports: Canary,
    site: Site,
    network: Network,
    settings: Any,
) -> None:
    every = [f"http://{host}/a" for host in (*NUMBERS, *NAMES)] + list(ODD)
    every += [f"http://{site.netloc}/to/{quote(each, safe='')}" for each in REDIRECT_TARGETS]
    assert len(every) == 40
    hosts = {each.lower().strip("[]").removesuffix(".") for each in (*NUMBERS, *NAMES)}
    # Allow these hosts, so that only their addresses can be the reason of a rejection.
    settings.KNOWLEDGE_FETCH_HOSTS = [*hosts, "tea.test"]
    settings.KNOWLEDGE_FETCH_PRIVATE = [site.netloc]
    accepted = 0
    for i, url in enumerate(every):
        document = {"ref": f"{i}.html", "url": url, "fetch": True}
        body = {"source": {"name": "web"}, "documents": [document]}
        answer = agent.client.post("/v1/knowledge/ingest", body, format="json")
        assert answer.status_code == (400 if url in ODD else 201), url
        accepted += answer.status_code == 201
    settle()
    assert canary_on_default_ports.count_connections() == 0
    assert set(network.connected) == {PUBLIC, "127.0.0.1"}
    assert network.connected.count("127.0.0.1") == len(REDIRECT_TARGETS)  # the site that redirects
    assert network.resolved.count("flips.test") == 1
    with acting(acme):
        rows = KnowledgeDocument.objects.of(acme)
        assert rows.filter(state="failed").count() == accepted == rows.count()
        errors = set(rows.values_list("error", flat=True))
    assert errors == {allowed_urls.NOT_PUBLIC, "The site could not be reached."}


def test_fetching_is_off_until_a_site_is_allowed(agent: Agent, acme: Account) -> None:
    page = {"ref": "a", "url": "https://tea.test/", "fetch": True}
    body = {"source": {"name": "web"}, "documents": [page]}
    assert agent.post("knowledge/ingest", body, 403)["error"] == "fetching_off"
    both = {**body, "documents": [{**page, "text": "Tea."}]}
    assert agent.post("knowledge/ingest", both, 400)["issues"]
    nowhere = {**body, "documents": [{"ref": "a", "fetch": True}]}
    assert agent.post("knowledge/ingest", nowhere, 400)["issues"]
    with acting(acme):
        assert not KnowledgeDocument.objects.of(acme).exists()


def test_page_of_an_allowed_site_is_fetched_and_parsed(
    fetch_page: FetchPage, acme: Account, site: Site, provider: FakeProvider
) -> None:
    before = datetime.now(UTC)
    document = fetch_page("/to/%2Fpage")
    assert (document.state, document.error) == ("ready", "")
    assert document.url == f"http://{site.netloc}/page"  # after redirects
    assert (document.title, document.mime) == ("Green tea", "text/html")
    assert before < document.observed_at < datetime.now(UTC)
    assert document.size == len(PAGE)
    assert site.hosts == [site.netloc] * 2
    with acting(acme):
        assert "Keep it cold." in KnowledgeChunk.objects.of(acme).get().text
    requests = provider.requests
    again = fetch_page("/page")
    assert (again.state, again.version, provider.requests) == ("ready", 1, requests)
    assert again.observed_at > document.observed_at


def test_page_removed_during_fetching_stays_removed(
    fetch_page: FetchPage, acme: Account, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare = prepare_delivery.prepare_deliveries

    def removed_meanwhile(source: KnowledgeSource, pages: Sequence[DeliveredFile]) -> Any:
        with acting(acme):
            KnowledgeDocument.objects.of(acme).update(removed_at=datetime.now(UTC))
        return prepare(source, pages)

    monkeypatch.setattr(page_fetches, "prepare_deliveries", removed_meanwhile)
    document = fetch_page("/page")
    assert document.removed_at
    assert (document.state, document.version) == ("pending", 0)


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("/again/4", "The page redirects more than 3 times."),
        ("/to/http%3A%2F%2F%5B", allowed_urls.UNREADABLE),
        ("/to/http%3A%2F%2Fother.test%2F", allowed_urls.SITE_NOT_ALLOWED),
        ("/picture", "The site did not return a readable page."),
        ("/packed", "The site did not return a readable page."),
        ("/long", "The page is larger than 1,000 bytes."),
        ("/drip", "The site did not respond within 0 seconds."),
    ],
    ids=["circles", "unreadable", "elsewhere", "picture", "packed", "long", "drip"],
)
def test_rejects_bad_responses(
    fetch_page: FetchPage, path: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch, "MAX_BYTES", 1_000)
    if path == "/drip":
        monkeypatch.setattr(fetch, "MAX_SECONDS", 0.4)
    document = fetch_page(path)
    assert (document.state, document.error) == ("failed", why)
    with translation.override("zh-hans"):
        assert translate_failure(why) != why


def test_failed_fetch_is_retried(fetch_page: FetchPage, acme: Account, site: Site) -> None:
    site.broken = True
    failed = fetch_page("/again/3")
    assert failed.error == "The site returned HTTP status 503."
    site.broken = False
    with acting(acme):
        retry_document(acme.pk, failed.pk)
    settle()
    with acting(acme):
        assert KnowledgeDocument.objects.of(acme).get().state == "ready"
    deliver(acme, {"page": "Now by hand."}, name="web")  # replaces a page whose fetch is pending
    with acting(acme):
        assert KnowledgeChunk.objects.of(acme).get().text == "Now by hand."


@pytest.fixture(params=["tea.test", "other.test"])
def certificate_name(
    request: pytest.FixtureRequest, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> str:
    """The host name in the certificate of the site; the certificate is trusted."""
    file = write_certificate(request.param, tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    site.socket = context.wrap_socket(site.socket, server_side=True)
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    return str(request.param)


def test_certificate_must_match_the_host(
    certificate_name: str, agent: Agent, acme: Account, site: Site, network: Network, settings: Any
) -> None:
    network.records["tea.test"] = ["127.0.0.1"]
    settings.KNOWLEDGE_FETCH_PRIVATE = [f"tea.test:{site.server_port}"]
    url = f"https://tea.test:{site.server_port}/page"
    page = {"ref": "a.html", "url": url, "fetch": True}
    agent.post("knowledge/ingest", {"source": {"name": "web"}, "documents": [page]}, 201)
    settle()
    with acting(acme):
        document = KnowledgeDocument.objects.of(acme).get()
    if certificate_name == "tea.test":
        assert (document.state, document.error) == ("ready", "")
        assert site.hosts == [f"tea.test:{site.server_port}"]
    else:
        assert (document.state, document.error) == ("failed", "The site could not be reached.")
        assert site.hosts == []


def write_certificate(name: str, folder: Path) -> Path:
    """Write a key and a self-signed certificate for `name` to a file."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    signed = (
        x509.CertificateBuilder(subject, subject, key.public_key(), 1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    form, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    file = folder / "site.pem"
    pem = serialization.Encoding.PEM
    file.write_bytes(key.private_bytes(pem, form, plain) + signed.public_bytes(pem))
    return file


def test_reviewer_fetches_a_page(
    reviewer: Client, acme: Account, site: Site, settings: Any
) -> None:
    url = f"http://{site.netloc}/page"
    form = {"source": "Web", "kind": "web_snapshot", "trust": "", "url": url}
    assert "the page is not fetched" in reviewer.get("/knowledge/upload/").content.decode()
    assert reviewer.post("/knowledge/upload/", form).status_code == 422
    settings.KNOWLEDGE_FETCH_PRIVATE = [site.netloc]
    assert site.netloc in reviewer.get("/knowledge/upload/").content.decode()
    assert reviewer.post("/knowledge/upload/", {**form, "url": ""}).status_code == 422
    elsewhere = reviewer.post("/knowledge/upload/", {**form, "url": "https://tea.test/"})
    assert "not on the list of allowed sites" in elsewhere.content.decode()
    answer = reviewer.post("/knowledge/upload/", form)
    assert "1 file is waiting" in reviewer.get(answer.headers["Location"]).content.decode()
    settle()
    with acting(acme):
        document = KnowledgeDocument.objects.of(acme).get()
    assert (document.ref, document.url, document.state) == (url, url, "ready")


def test_read_only_ledger_postpones_fetching(
    fetch_page: FetchPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse = Mock(side_effect=ReadOnly("Its checkpoint is missing.", retry_after=60))
    monkeypatch.setattr(page_fetches, "ingest_deliveries", refuse)
    assert fetch_page("/page").state == "pending"
