"""A page is fetched from where it may be, and nobody else is ever called."""

import socket
import ssl
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpcore2
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from django.test import Client
from django.utils import translation

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account, User
from knowledge.actions import page_fetches, prepare_delivery
from knowledge.actions.parse_documents import retry_document
from knowledge.actions.prepare_delivery import Delivery
from knowledge.fetching import allowed_addresses, fetch
from knowledge.models import KnowledgeChunk, KnowledgeDocument, KnowledgeSource
from knowledge.parsing.failure_messages import translate_failure
from tests.agent import Agent
from tests.fake_provider import FakeProvider
from tests.knowledge.addresses import NAMES, NUMBERS, ODD, PUBLIC
from tests.knowledge.made import deliver
from tests.knowledge.websites import PAGE, Canary, Site
from tests.makers import settle

pytestmark = pytest.mark.promise(36)

LED_TO = ("http://127.0.0.1/a", "http://inside.test/a")
Ask = Callable[..., KnowledgeDocument]


class Network:
    """Names as an attacker would have them resolved, and a world in which only we answer."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.called: list[str] = []
        self.known = {"inside.test": ["127.0.0.1"], "mixed.test": [PUBLIC, "127.0.0.1"]}
        self.really = socket.getaddrinfo

    def resolve(self, host: Any, port: Any, *more: Any, **said: Any) -> Any:
        self.asked.append(str(host))
        if host == "flips.test":  # public while it is looked at, ours when it is called
            found = [PUBLIC if self.asked.count(host) == 1 else "127.0.0.1"]
        else:
            found = self.known.get(host, [host])
        return [each for one in found for each in self.really(one, port, *more, **said)]


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> Network:
    seen = Network()
    really = httpcore2.AnyIOBackend.connect_tcp

    async def connect(backend: Any, host: str, *said: Any, **more: Any) -> Any:
        seen.called.append(host)
        if host != "127.0.0.1":
            raise httpcore2.ConnectError("nobody")
        return await really(backend, host, *said, **more)

    monkeypatch.setattr(httpcore2.AnyIOBackend, "connect_tcp", connect)
    monkeypatch.setattr(socket, "getaddrinfo", seen.resolve)
    return seen


@pytest.fixture
def ask(agent: Agent, acme: Account, site: Site, settings: Any) -> Ask:
    """Have a page of the site fetched, as an agent would."""
    settings.KNOWLEDGE_FETCH_PRIVATE = [site.place]

    def ask(path: str, ref: str = "page") -> KnowledgeDocument:
        document = {"ref": ref, "url": f"http://{site.place}{path}", "fetch": True}
        source = {"name": "web", "kind": "web_snapshot"}
        answer = agent.post("knowledge/ingest", {"source": source, "documents": [document]})
        assert len(answer["event_ids"]) == 1
        settle()
        settle()  # what was read is embedded
        with acting(acme):
            return KnowledgeDocument.objects.of(acme).get(ref=ref)

    return ask


@pytest.fixture
def usual(canary: Canary, monkeypatch: pytest.MonkeyPatch) -> Canary:
    """The canary at the ports of the web: the port alone refuses nothing."""
    for scheme in allowed_addresses.PORTS:
        monkeypatch.setitem(allowed_addresses.PORTS, scheme, canary.port)
    return canary


def test_of_forty_addresses_none_reaches_the_canary(
    agent: Agent, acme: Account, usual: Canary, site: Site, network: Network, settings: Any
) -> None:
    every = [f"http://{host}/a" for host in (*NUMBERS, *NAMES)] + list(ODD)
    every += [f"http://{site.place}/to/{quote(each, safe='')}" for each in LED_TO]
    assert len(every) == 40
    hosts = {each.lower().strip("[]").removesuffix(".") for each in (*NUMBERS, *NAMES)}
    settings.KNOWLEDGE_FETCH_HOSTS = [*hosts, "tea.test"]  # or the list alone would refuse them
    settings.KNOWLEDGE_FETCH_PRIVATE = [site.place]
    accepted = 0
    for i, url in enumerate(every):
        document = {"ref": f"{i}.html", "url": url, "fetch": True}
        body = {"source": {"name": "web"}, "documents": [document]}
        answer = agent.client.post("/v1/knowledge/ingest", body, format="json")
        assert answer.status_code == (400 if url in ODD else 201), url
        accepted += answer.status_code == 201
    settle()
    assert usual.called == 0
    assert set(network.called) == {PUBLIC, "127.0.0.1"}
    assert network.called.count("127.0.0.1") == len(LED_TO)  # the site that leads on
    assert network.asked.count("flips.test") == 1
    with acting(acme):
        rows = KnowledgeDocument.objects.of(acme)
        assert rows.filter(state="failed").count() == accepted == rows.count()
        said = set(rows.values_list("error", flat=True))
    assert said == {allowed_addresses.NOT_PUBLIC, "The site could not be reached."}


def test_nothing_is_fetched_until_a_site_is_named(agent: Agent, acme: Account) -> None:
    page = {"ref": "a", "url": "https://tea.test/", "fetch": True}
    body = {"source": {"name": "web"}, "documents": [page]}
    assert agent.post("knowledge/ingest", body, 403)["error"] == "fetching_off"
    both = {**body, "documents": [{**page, "text": "Tea."}]}
    assert agent.post("knowledge/ingest", both, 400)["issues"]
    nowhere = {**body, "documents": [{"ref": "a", "fetch": True}]}
    assert agent.post("knowledge/ingest", nowhere, 400)["issues"]
    with acting(acme):
        assert not KnowledgeDocument.objects.of(acme).exists()


def test_a_page_of_an_allowed_site_is_fetched_and_read(
    ask: Ask, acme: Account, site: Site, provider: FakeProvider
) -> None:
    before = datetime.now(UTC)
    document = ask("/to/%2Fpage")
    assert (document.state, document.error) == ("ready", "")
    assert document.url == f"http://{site.place}/page"  # where it was found in the end
    assert (document.title, document.mime) == ("Green tea", "text/html")
    assert before < document.observed_at < datetime.now(UTC)
    assert document.size == len(PAGE)
    assert site.hosts == [site.place] * 2
    with acting(acme):
        assert "Keep it cold." in KnowledgeChunk.objects.of(acme).get().text
    asked = provider.requests
    again = ask("/page")
    assert (again.state, again.version, provider.requests) == ("ready", 1, asked)
    assert again.observed_at > document.observed_at


def test_a_page_that_is_removed_while_it_is_fetched_stays_removed(
    ask: Ask, acme: Account, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare = prepare_delivery.prepare

    def removed_meanwhile(source: KnowledgeSource, pages: Sequence[Delivery]) -> Any:
        with acting(acme):
            KnowledgeDocument.objects.of(acme).update(removed_at=datetime.now(UTC))
        return prepare(source, pages)

    monkeypatch.setattr(page_fetches, "prepare", removed_meanwhile)
    document = ask("/page")
    assert document.removed_at
    assert (document.state, document.version) == ("pending", 0)


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("/again/4", "The page redirects more than 3 times."),
        ("/to/http%3A%2F%2F%5B", allowed_addresses.UNREADABLE),
        ("/to/http%3A%2F%2Fother.test%2F", allowed_addresses.SITE_NOT_ALLOWED),
        ("/picture", "The site did not return a readable page."),
        ("/packed", "The site did not return a readable page."),
        ("/long", "The page is larger than 1,000 bytes."),
        ("/drip", "The site did not respond within 0 seconds."),
    ],
    ids=["circles", "unreadable", "elsewhere", "picture", "packed", "long", "drip"],
)
def test_a_site_cannot_send_what_it_likes(
    ask: Ask, path: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch, "MOST_BYTES", 1_000)
    monkeypatch.setattr(fetch, "SECONDS", 0.4)
    started = time.monotonic()
    document = ask(path)
    assert (document.state, document.error) == ("failed", why)
    assert time.monotonic() - started < 5
    with translation.override("zh-hans"):
        assert translate_failure(why) != why


def test_what_could_not_be_fetched_is_tried_again(ask: Ask, acme: Account, site: Site) -> None:
    site.broken = True
    failed = ask("/again/3")
    assert failed.error == "The site returned HTTP status 503."
    site.broken = False
    with acting(acme):
        retry_document(acme.pk, failed.pk)
    settle()
    with acting(acme):
        assert KnowledgeDocument.objects.of(acme).get().state == "ready"
    deliver(acme, {"page": "Now by hand."}, name="web")  # wins over a page that still waits
    with acting(acme):
        assert KnowledgeChunk.objects.of(acme).get().text == "Now by hand."


@pytest.fixture(params=["tea.test", "other.test"])
def named(
    request: pytest.FixtureRequest, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> str:
    """The name that the site's certificate is of; the certificate is trusted."""
    file = certificate(request.param, tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    site.socket = context.wrap_socket(site.socket, server_side=True)
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    return str(request.param)


def test_a_certificate_must_be_of_the_name_that_was_asked_for(
    named: str, agent: Agent, acme: Account, site: Site, network: Network, settings: Any
) -> None:
    network.known["tea.test"] = ["127.0.0.1"]
    settings.KNOWLEDGE_FETCH_PRIVATE = [f"tea.test:{site.server_port}"]
    url = f"https://tea.test:{site.server_port}/page"
    page = {"ref": "a.html", "url": url, "fetch": True}
    agent.post("knowledge/ingest", {"source": {"name": "web"}, "documents": [page]}, 201)
    settle()
    with acting(acme):
        document = KnowledgeDocument.objects.of(acme).get()
    unreached = ("failed", "The site could not be reached.")
    wanted = ("ready", "") if named == "tea.test" else unreached
    assert (document.state, document.error) == wanted
    assert site.hosts == ([f"tea.test:{site.server_port}"] if named == "tea.test" else [])


def certificate(name: str, folder: Path) -> Path:
    """A key and its certificate for a name, signed by itself."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    made = (
        x509.CertificateBuilder(subject, subject, key.public_key(), 1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    form, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    file = folder / "site.pem"
    pem = serialization.Encoding.PEM
    file.write_bytes(key.private_bytes(pem, form, plain) + made.public_bytes(pem))
    return file


def test_a_reviewer_has_a_page_fetched(
    client: Client, alice: User, acme: Account, site: Site, settings: Any
) -> None:
    client.force_login(alice)
    url = f"http://{site.place}/page"
    form = {"source": "Web", "kind": "web_snapshot", "trust": "", "url": url}
    assert "the page is not fetched" in client.get("/knowledge/upload/").content.decode()
    assert client.post("/knowledge/upload/", form).status_code == 422
    settings.KNOWLEDGE_FETCH_PRIVATE = [site.place]
    assert site.place in client.get("/knowledge/upload/").content.decode()
    assert client.post("/knowledge/upload/", {**form, "url": ""}).status_code == 422
    elsewhere = client.post("/knowledge/upload/", {**form, "url": "https://tea.test/"})
    assert "not on the list of allowed sites" in elsewhere.content.decode()
    answer = client.post("/knowledge/upload/", form)
    assert "1 file is waiting" in client.get(answer.headers["Location"]).content.decode()
    settle()
    with acting(acme):
        document = KnowledgeDocument.objects.of(acme).get()
    assert (document.ref, document.url, document.state) == (url, url, "ready")
