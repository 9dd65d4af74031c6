"""A faulty network to services, receivers and sites that kmapp calls."""

import time
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.contrib.auth import SESSION_KEY
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account, User
from kmapp.notifications.webhooks import sending
from kmapp.notifications.webhooks.models import Webhook
from kmapp.outbox.deliver import deliver_due
from kmapp.outbox.models import Delivery
from kmapp.security.egress import json_requests
from knowledge.fetching import fetch
from knowledge.models import KnowledgeDocument
from tests import makers
from tests.agent import Agent
from tests.chaos.proxy import BREAKING, PATIENCE, SERVICE_FAULTS, SILENT, Proxy, choose_deadline
from tests.fake_provider import FakeProvider
from tests.identity_provider import FROM_OWN_PAGE, IdentityProvider, identity_provider
from tests.kernel.notification_causes import break_ledger, settle
from tests.knowledge.websites import Site, served
from tests.mail_server import MailServer, serve_mail
from tests.web.company_pages import SETTINGS, START, sign_in_form
from tests.web.pages import page
from tests.webhook_receiver import Receiver, receive_webhooks

pytestmark = [pytest.mark.django_db, pytest.mark.promise(41)]
MOST = 15.0  # seconds of a call during a fault
TEXTS = ("Oolong takes ninety-five degrees.", "Oolong is a tea.", "The cup of oolong is blue.")


@pytest.fixture(params=SERVICE_FAULTS)
def fault(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def agent(acme: Account) -> Agent:
    return makers.agent(acme)


@pytest.fixture
def reranker_link(reranker: FakeProvider, settings: Settings, fault: str) -> Iterator[Proxy]:
    with Proxy(reranker.server_port).serving() as proxy:
        settings.RERANK_BASE_URL = f"http://127.0.0.1:{proxy.port}/v1"
        settings.RERANK_DEADLINE = choose_deadline(fault)
        yield proxy


def test_searches_have_all_results_without_their_reranker(
    agent: Agent, acme: Account, reranker_link: Proxy, settings: Settings, fault: str
) -> None:
    for text in TEXTS:
        makers.write(acme, text, user_id="ann")

    def search() -> dict[str, str]:
        """Return the reason of each decision."""
        body = {"query": "How hot is oolong?", "user_id": "ann"}
        answer = agent.post("memory/search", body, 200)
        assert len(answer["results"]) == len(TEXTS)
        return {each["code"]: each.get("reason", "") for each in answer["decisions"]}

    reranker_link.become(SERVICE_FAULTS[fault])
    began = time.monotonic()
    decisions = search()
    assert time.monotonic() - began < MOST
    assert ("km_reranked" in decisions) is (fault not in BREAKING)
    if fault in BREAKING:
        reason = "km_timeout" if fault in SILENT else "km_provider_error"
        assert decisions["km_rerank_failed"] == reason
    settings.RERANK_DEADLINE = PATIENCE
    reranker_link.recover()
    assert "km_reranked" in search()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receive_webhooks() as receiver:
        yield receiver


@pytest.fixture
def receiver_link(
    receiver: Receiver, settings: Settings, monkeypatch: pytest.MonkeyPatch, fault: str
) -> Iterator[Proxy]:
    with Proxy(int(receiver.netloc.rpartition(":")[2])).serving() as proxy:
        settings.WEBHOOK_PRIVATE = [f"127.0.0.1:{proxy.port}"]
        monkeypatch.setattr(sending, "MAX_SECONDS", choose_deadline(fault))
        yield proxy


def test_webhooks_are_sent_again_with_their_id(
    agent: Agent,
    acme: Account,
    receiver: Receiver,
    receiver_link: Proxy,
    monkeypatch: pytest.MonkeyPatch,
    fault: str,
) -> None:
    url = f"http://127.0.0.1:{receiver_link.port}/hook"
    body = {"name": "Automation", "url": url, "event_types": ["memory.added"]}
    path = f"webhooks/{agent.post('webhooks', body, 201)['id']}"
    agent.post("memory/store", {"text": "Ann likes tea.", "user_id": "ann"}, 201)
    receiver_link.become(SERVICE_FAULTS[fault])
    began = time.monotonic()
    deliver_due("default")
    assert time.monotonic() - began < MOST
    error = agent.get(path)["last_error"]
    if fault in BREAKING:
        assert ("did not respond within" in error) is (fault in SILENT)
    else:
        assert error is None
    receiver_link.recover()
    monkeypatch.setattr(sending, "MAX_SECONDS", PATIENCE)
    past = timezone.now() - timedelta(minutes=2)
    with acting(acme):
        Webhook.objects.of(acme.pk).update(last_attempt_at=past)
        Delivery.objects.of(acme.pk).open().update(due_at=past)
    deliver_due("default")
    assert agent.get(path)["last_error"] is None
    assert len({headers["webhook-id"] for headers, _ in receiver.requests}) == 1
    with acting(acme):
        open_deliveries = Delivery.objects.of(acme.pk).open()
        assert not open_deliveries.filter(handler="kmapp.webhooks.send").exists()


@pytest.fixture
def mail_server() -> Iterator[MailServer]:
    with serve_mail() as server:
        yield server


@pytest.fixture
def mail_link(mail_server: MailServer, settings: Settings, fault: str) -> Iterator[Proxy]:
    with Proxy(mail_server.port).serving() as proxy:
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", proxy.port
        settings.EMAIL_USE_TLS = False
        settings.EMAIL_TIMEOUT = choose_deadline(fault)
        yield proxy


def test_mail_waits_for_its_server(
    acme: Account,
    ada: User,
    mail_server: MailServer,
    mail_link: Proxy,
    settings: Settings,
    fault: str,
) -> None:
    break_ledger(acme)
    mail_link.become(SERVICE_FAULTS[fault])
    began = time.monotonic()
    settle()
    assert time.monotonic() - began < MOST
    pending = makers.rows(Delivery, acme, reason="mail_server")
    assert [each.attempts for each in pending] == ([0] if fault in BREAKING else [])
    mail_link.recover()
    settings.EMAIL_TIMEOUT = PATIENCE
    makers.update(Delivery, acme, {"reason": "mail_server"}, due_at=timezone.now())
    settle()
    assert len(mail_server.messages) == 1
    assert b"To: " + ada.email.encode() in mail_server.messages[0]


@pytest.fixture
def site_link(settings: Settings, monkeypatch: pytest.MonkeyPatch, fault: str) -> Iterator[Proxy]:
    with served(Site()) as site, Proxy(site.server_port).serving() as proxy:
        settings.KNOWLEDGE_FETCH_PRIVATE = [f"127.0.0.1:{proxy.port}"]
        monkeypatch.setattr(fetch, "MAX_SECONDS", choose_deadline(fault))
        yield proxy


def test_page_can_be_fetched_after_the_fault(
    agent: Agent, acme: Account, site_link: Proxy, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    url = f"http://127.0.0.1:{site_link.port}/page"
    document = {"ref": "tea", "url": url, "fetch": True}
    body = {"source": {"name": "web", "kind": "web_snapshot"}, "documents": [document]}

    def fetch_page() -> tuple[str, str]:
        """Fetch the page; return the state and the error of its document."""
        agent.post("knowledge/ingest", body)
        makers.settle()
        [row] = makers.rows(KnowledgeDocument, acme)
        return row.state, row.error

    site_link.become(SERVICE_FAULTS[fault])
    began = time.monotonic()
    outcome = fetch_page()
    assert time.monotonic() - began < MOST
    if fault in SILENT:
        assert outcome == ("failed", "The site did not respond within 0 seconds.")
    elif fault in BREAKING:
        assert outcome == ("failed", "The site could not be reached.")
    else:
        assert outcome == ("ready", "")
    site_link.recover()
    monkeypatch.setattr(fetch, "MAX_SECONDS", PATIENCE)
    assert fetch_page() == ("ready", "")


@pytest.fixture(scope="module")
def identities() -> Iterator[IdentityProvider]:
    with identity_provider() as identities:
        yield identities


def test_person_can_sign_in_after_the_fault(
    admin: Client,
    identities: IdentityProvider,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    fault: str,
) -> None:
    with Proxy(int(identities.netloc.rpartition(":")[2])).serving() as link:
        company = IdentityProvider(f"http://localhost:{link.port}")
        settings.SIGN_IN_PRIVATE = [company.netloc]
        assert admin.post(SETTINGS, sign_in_form(company)).status_code == 302
        company.put("noor", groups=["staff"])
        client = Client()
        started = client.get(START, headers=FROM_OWN_PAGE)
        back = company.authorize(started.headers["Location"], "noor")
        monkeypatch.setattr(json_requests, "MAX_SECONDS", choose_deadline(fault))
        link.become(SERVICE_FAULTS[fault])
        began = time.monotonic()
        answer = client.get(back)
        assert time.monotonic() - began < MOST
        if fault in BREAKING:
            assert "could not be reached" in page(answer, 503)
        assert (SESSION_KEY in client.session) is (fault not in BREAKING)
        link.recover()
        monkeypatch.setattr(json_requests, "MAX_SECONDS", PATIENCE)
        returning = Client()
        company.sign_in(returning, "noor")
        assert SESSION_KEY in returning.session
